// SPDX-License-Identifier: LGPL-3.0-or-later
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <string>

#include "include/sluice/compat/sched_msgs.h"
#include "sluice/base/log_record.h"

SCHED_MSG_LOG log_messages;

namespace {

const char* level_of(int kind) {
    return kind == MSG_CRITICAL ? "critical" : kind == MSG_WARNING ? "warning" : kind == MSG_DEBUG ? "debug" : "normal";
}

const char* kind_text(int kind) {
    return kind == MSG_CRITICAL ? "[CRITICAL]" : kind == MSG_WARNING ? "[warning]" : kind == MSG_DEBUG ? "[debug]" : "";
}

std::string formatted(const char* format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    std::string text(static_cast<std::size_t>(std::max(std::vsnprintf(nullptr, 0, format, again), 0)) + 1, '\0');
    va_end(again);
    std::vsnprintf(text.data(), text.size(), format, arguments);
    text.pop_back();
    return text;
}

std::string text_line(int kind, const timeval& now, const std::string& text) {
    tm parts{};
    ::gmtime_r(&now.tv_sec, &parts);
    char time[64], fraction[16];
    std::strftime(time, sizeof time, "%Y-%m-%d %H:%M:%S", &parts);
    std::snprintf(fraction, sizeof fraction, ".%04d UTC ", static_cast<int>(now.tv_usec / 100));
    return std::string(time) + fraction + kind_text(kind) + " " + text + "\n";
}

/// journald takes each line for a record of its own.
std::string with_priority(std::string_view priority, const std::string& lines) {
    std::string out;
    for (std::size_t at = 0, end = 0; at < lines.size(); at = end + 1) {
        end = std::min(lines.find('\n', at), lines.size() - 1);
        out.append(priority).append(lines, at, end + 1 - at);
    }
    return out;
}

/// The format is that of config.xml when the program began, as with the daemon that started it.
void write_line(int kind, std::string text) {
    static const bool json = sluice::log_format_of_project() == sluice::LogFormat::kJson;
    static const bool to_journal = sluice::stderr_is_journal();
    timeval now{};
    ::gettimeofday(&now, nullptr);
    if (!text.empty() && text.back() == '\n') text.pop_back();
    std::string line = json ? sluice::json_line({now.tv_sec * 1000LL + now.tv_usec / 1000, level_of(kind),
                                                 program_invocation_short_name, ::getpid(), "", text})
                            : text_line(kind, now, text);
    if (to_journal) line = with_priority(sluice::journal_priority(level_of(kind)), line);
    std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace

void SCHED_MSG_LOG::vprintf(int kind, const char* format, va_list arguments) {
    if (kind <= debug_level) write_line(kind, formatted(format, arguments));
}

void SCHED_MSG_LOG::printf(int kind, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vprintf(kind, format, arguments);
    va_end(arguments);
}

void SCHED_MSG_LOG::printf_multiline(int kind, const char* text, const char* prefix_format, ...) {
    if (kind > debug_level) return;
    va_list arguments;
    va_start(arguments, prefix_format);
    const std::string prefix = formatted(prefix_format, arguments);
    va_end(arguments);
    for (const char* line = text; *line != '\0';) {
        const std::size_t n = std::strcspn(line, "\n");
        write_line(kind, prefix + " " + std::string(line, n));
        line += n;
        if (*line == '\n') ++line;
    }
}
