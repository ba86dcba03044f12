// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/base/process.h"

#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/text.h"

extern char** environ;

namespace sluice {
namespace {

/// `leads`: a process group of its own. 0: it could not be started.
pid_t start_script(const std::vector<std::string>& words, int input, bool leads) {
    std::vector<char*> argv;
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));  // NOLINT: its signature
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    if (input >= 0) ::posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawnattr_t attributes;
    ::posix_spawnattr_init(&attributes);
    if (leads) ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    pid_t pid = 0;
    const int error = ::posix_spawn(&pid, argv[0], &actions, &attributes, argv.data(), environ);
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&actions);
    return error == 0 ? pid : 0;
}

/// nullopt: it still runs.
std::optional<int> child_status(pid_t pid, int flags) {
    int status = 0;
    pid_t ended = 0;
    while ((ended = ::waitpid(pid, &status, flags)) < 0 && errno == EINTR) {
    }
    if (ended == 0) return std::nullopt;
    if (ended < 0) return 127;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

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

std::optional<int> poll_child(int pid) { return child_status(pid, WNOHANG); }
int wait_for_child(int pid) { return *child_status(pid, 0); }

int run_script(const std::vector<std::string>& words, double limit, const std::string* input) {
    OwnedFd text;
    if (input != nullptr) {
        text = OwnedFd(::memfd_create("input", MFD_CLOEXEC));
        if (text.get() < 0 || !write_all(text.get(), *input) || ::lseek(text.get(), 0, SEEK_SET) != 0) return 127;
    }
    const pid_t pid = start_script(words, text.get(), limit > 0);
    if (pid == 0) return 127;
    if (limit <= 0) return wait_for_child(pid);
    using Steady = std::chrono::steady_clock;
    const auto end = Steady::now() + std::chrono::duration<double>(limit);
    for (auto pause = std::chrono::microseconds(200);; pause = std::min(2 * pause, std::chrono::microseconds(50'000))) {
        if (const auto status = poll_child(pid)) return *status;
        if (Steady::now() >= end) break;
        std::this_thread::sleep_for(pause);
    }
    ::kill(-pid, SIGKILL);
    wait_for_child(pid);
    return kScriptTimedOut;
}

}  // namespace sluice
