// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/base/process.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>

#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

struct Stat {
    char state = '?';
    std::uint64_t start_ticks = 0;
};

/// nullopt: no such process, or one that this user may not see (/proc mounted with hidepid).
std::optional<Stat> read_stat(std::int32_t pid) {
    std::optional<std::string> text;
    try {
        text = read_file("/proc/" + std::to_string(pid) + "/stat", 4096);
    } catch (const FileError&) {
        return std::nullopt;  // ESRCH: it ended while being read
    }
    if (!text) return std::nullopt;
    // Field 2 is the program's name in brackets and may hold anything, brackets and blanks included.
    const auto name_end = text->rfind(") ");
    if (name_end == std::string::npos) return std::nullopt;
    const auto fields = split(std::string_view(*text).substr(name_end + 2), ' ');  // [0] is field 3
    if (fields.size() < 20 || fields[0].empty()) return std::nullopt;
    const auto ticks = parse_int(fields[19]);
    if (!ticks) return std::nullopt;
    return Stat{fields[0][0], static_cast<std::uint64_t>(*ticks)};
}

}  // namespace

ProcessId this_process() {
    const auto pid = static_cast<std::int32_t>(::getpid());
    const auto stat = read_stat(pid);
    if (!stat) throw Error("Can't read /proc/self/stat: is /proc mounted?");
    return {pid, stat->start_ticks};
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLUICE_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SLUICE_SANITIZED 1
#endif
#endif

void limit_memory([[maybe_unused]] std::uint64_t bytes) {
#ifndef SLUICE_SANITIZED
    rlimit limit{};
    if (::getrlimit(RLIMIT_DATA, &limit) != 0) return;
    limit.rlim_cur = std::min<rlim_t>(bytes, limit.rlim_max);
    ::setrlimit(RLIMIT_DATA, &limit);
#endif
}

bool is_alive(const ProcessId& process) {
    if (process.pid <= 0) return false;
    if (const auto stat = read_stat(process.pid)) {
        return stat->state != 'Z' && stat->state != 'X' && stat->start_ticks == process.start_ticks;
    }
    return ::kill(process.pid, 0) == 0 || errno != ESRCH;
}

}  // namespace sluice
