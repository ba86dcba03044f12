// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/base/process.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <optional>
#include <string>

#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/service_manager.h"
#include "sluice/base/text.h"
#include "src/base/script_child.h"

extern char** environ;

namespace sluice {
namespace {

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));  // NOLINT: its signature
    pointers.push_back(nullptr);
    return pointers;
}

/// This process's, but for the names that `more` sets.
std::vector<std::string> environment_with(const std::vector<std::string>& more) {
    std::vector<std::string> all = more;
    const auto name_of = [](std::string_view entry) { return entry.substr(0, entry.find('=')); };
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const auto is_same = [&](const std::string& m) { return name_of(m) == name_of(*entry); };
        if (std::ranges::none_of(more, is_same)) all.emplace_back(*entry);
    }
    return all;
}

/// `input` and `output`: descriptors, or -1: as this process has them. 0: there can be no more processes.
pid_t start_script(const std::vector<std::string>& words, int input, int output, const ScriptRun& run) {
    const std::vector<char*> argv = pointers_to(words);
    const std::vector<std::string> environment = environment_with(run.environment);
    const std::vector<char*> variables = pointers_to(environment);
    const bool leads = run.limit > 0 || run.stop;  // what it starts is ended with it
    const ScriptChild child{
        .parent = ::getpid(), .streams = {input, output, -1}, .leads = leads, .environment = variables.data()};
    const pid_t pid = start_script_child(argv.data(), child);
    if (pid > 0 && leads) ::setpgid(pid, pid);  // both do, so that it is so before it is ended
    return std::max(pid, 0);
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

/// The exit status of a started script, which is killed after its limit, or after a stop.
int end_of_script(pid_t pid, const ScriptRun& run) {
    using Steady = std::chrono::steady_clock;
    // Readable when it has ended. Where a kernel or a container has no such thing, poll() only sleeps for a moment.
    const OwnedFd end(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    const double longest = end.get() < 0 ? 0.05 : run.stop || service_manager().listens() ? 1 : 3600;
    auto until = Steady::now() + std::chrono::duration<double>(run.limit > 0 ? run.limit : 1e9);
    bool stopping = false;
    for (;;) {
        if (!stopping && run.stop && run.stop()) {
            const auto soon = Steady::now() + std::chrono::duration<double>(run.grace);
            stopping = soon < until;
            until = std::min(until, soon);
        }
        const double left = std::chrono::duration<double>(until - Steady::now()).count();
        pollfd fd{end.get(), POLLIN, 0};
        ::poll(&fd, 1, static_cast<int>(std::ceil(std::clamp(left, 0.0, longest) * 1000)));
        if (const auto status = child_status(pid, WNOHANG)) return *status;
        if (left <= 0) {
            ::kill(-pid, SIGKILL);
            wait_for_child(pid);
            return stopping ? kScriptStopped : kScriptTimedOut;
        }
        service_manager().alive();  // who waits for a script does not hang
    }
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

std::filesystem::path own_prefix() {
    std::error_code ignored;
    return std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path().parent_path();
}

std::string sluice_command(const std::string& words, const std::filesystem::path& project) {
    return shell_quoted((own_prefix() / "bin/sluice").string()) + " " + words + " " + shell_quoted(project.string());
}

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

namespace {

/// From its begin, 1 MB at most.
std::string read_back(int fd) {
    constexpr std::size_t kMost = 1 << 20;
    std::string text(kMost, '\0');
    std::size_t size = 0;
    while (size < kMost) {
        const ssize_t n = ::pread(fd, text.data() + size, kMost - size, static_cast<off_t>(size));
        if (n <= 0) break;
        size += static_cast<std::size_t>(n);
    }
    text.resize(size);
    return text;
}

}  // namespace

int run_script(const std::vector<std::string>& words, const ScriptRun& run) {
    OwnedFd input, output;
    if (run.input != nullptr) {
        input = OwnedFd(::memfd_create("input", MFD_CLOEXEC));
        if (input.get() < 0 || !write_all(input.get(), *run.input) || ::lseek(input.get(), 0, SEEK_SET) != 0)
            return 127;
    }
    if (run.output != nullptr) {
        output = OwnedFd(::memfd_create("output", MFD_CLOEXEC));
        if (output.get() < 0) return 127;
    }
    const pid_t pid = start_script(words, input.get(), output.get(), run);
    if (pid == 0) return 127;
    const bool just_waits = run.limit <= 0 && !run.stop && !service_manager().listens();
    const int status = just_waits ? wait_for_child(pid) : end_of_script(pid, run);
    if (run.output != nullptr) *run.output = read_back(output.get());
    return status;
}

}  // namespace sluice
