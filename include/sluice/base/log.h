// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The log of a program, in upstream's line shape:  YYYY-MM-DD HH:MM:SS.uuuu UTC [PID=n    ] [kind] text
// (the PID field only where a program asks for it; UTC whatever TZ says). With <log_format>json</log_format> in the
// project's config.xml each line is a record (log_record.h). spdlog does the writing, in log.cpp only.
#include <fmt/core.h>

#include <string>
#include <string_view>

#include "sluice/base/log_record.h"

namespace sluice {

/// Upstream's -d levels.
enum class LogLevel { kCritical = 1, kWarning = 2, kNormal = 3, kDebug = 4 };

struct LogOptions {
    std::string file;  ///< empty: stderr. Opened for append; its folder's group may write a new one
    LogLevel level = LogLevel::kNormal;
    bool with_pid = false;  ///< cgi, fcgi and file_upload_handler print [PID=n]
};

/// Call once, at the start of main. The project's config.xml decides the format. Throws FileError if the file can't be
/// opened (stderr stays usable).
void log_open(const LogOptions& options);
void log_set_level(LogLevel level);
/// For a program that reads config.xml again.
void log_set_format(LogFormat format);
LogLevel log_level();
/// For log rotation: closes the file and opens the same path again.
void log_reopen();
/// The same if the file was moved away or removed meanwhile; for programs that nobody signals. stderr's file, too:
/// where no file was named, and where it lies in the same folder. Never throws: if a new one can't be opened, the old
/// file stays in use, or, where that was removed, stderr is.
void log_follow_rotation();
/// From now on lines are kept in memory too, until log_take_copy() hands them over.
void log_start_copy();
std::string log_take_copy();
/// From now on lines begin with "PART: "; empty: with nothing. For a program with several services, on one thread.
void log_set_part(std::string_view part);
void log_line(LogLevel level, std::string_view text);
/// The same, once a UTC day: not if this program said it today, or the last pages of its log file have it of today. For
/// what each request would say again; as CGI each of them is a program of its own.
void log_once_a_day(LogLevel level, const std::string& text);
/// The same in each hour of the day anew: of what keeps all requests from being served.
void log_once_an_hour(LogLevel level, const std::string& text);

inline bool log_enabled(LogLevel level) { return static_cast<int>(level) <= static_cast<int>(log_level()); }

template <typename... Args>
void log_at(LogLevel level, fmt::format_string<Args...> format, Args&&... args) {
    if (log_enabled(level)) log_line(level, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void log_critical(fmt::format_string<Args...> f, Args&&... a) {
    log_at(LogLevel::kCritical, f, std::forward<Args>(a)...);
}
template <typename... Args>
void log_warning(fmt::format_string<Args...> f, Args&&... a) {
    log_at(LogLevel::kWarning, f, std::forward<Args>(a)...);
}
template <typename... Args>
void log_normal(fmt::format_string<Args...> f, Args&&... a) {
    log_at(LogLevel::kNormal, f, std::forward<Args>(a)...);
}
template <typename... Args>
void log_debug(fmt::format_string<Args...> f, Args&&... a) {
    log_at(LogLevel::kDebug, f, std::forward<Args>(a)...);
}

}  // namespace sluice
