// SPDX-License-Identifier: LGPL-3.0-or-later
// Double fork, lock, redirect, exec. The last child reports through a pipe that exec closes: nothing read
// means that the program runs.
#include "config/run/spawn.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "config/run/process_lock.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/process.h"
#include "sluice/base/text.h"
#include "sluice/base/users.h"

namespace sluice {
namespace {

/// What the child writes: its pid first, then, if it could not exec, where it failed.
enum class SpawnStage : int { kPid, kFork, kLockHeld, kLock, kGuard, kOutput, kPidFile, kFolder, kExec };
struct SpawnNote {
    SpawnStage stage = SpawnStage::kPid;
    int value = 0;  ///< the pid or errno
};

std::string problem_text(const SpawnNote& failure, const ConfiguredProgram& program, const HostFolders& folders) {
    const std::string error = std::strerror(failure.value);
    switch (failure.stage) {
        case SpawnStage::kLock:
            return fmt::format("can't lock {}: {}", program.lock_file.string(),
                               file_problem(failure.value, program.lock_file));
        case SpawnStage::kGuard:
            return fmt::format("can't lock {}: {}", folders.guard.string(), file_problem(failure.value, folders.guard));
        case SpawnStage::kOutput:
            return fmt::format("can't write {}: {}", program.output.string(),
                               file_problem(failure.value, program.output));
        case SpawnStage::kPidFile:
            return fmt::format("can't write {}: {}", program.pid_file.string(),
                               file_problem(failure.value, program.pid_file));
        case SpawnStage::kFolder: return fmt::format("can't enter {}: {}", folders.tmp.string(), error);
        case SpawnStage::kExec:
            return fmt::format("can't run '{}' ({}): is it in {}, and executable?", program.words.front(), error,
                               folders.bin.string());
        case SpawnStage::kLockHeld: return "it runs already";
        default: return fmt::format("can't start a process: {}", error);
    }
}

/// What a process becomes, and whom it tells how that went.
struct Becoming {
    const ConfiguredProgram& program;
    const HostFolders& folders;
    int pipe = -1;            ///< to the process that waits for it; -1: whoever started it reads standard error
    bool to_journal = false;  ///< standard output and error stay what they are
};

void report(const Becoming& job, SpawnStage stage, int value) {
    const SpawnNote message{stage, value};
    if (job.pipe < 0) {
        if (stage != SpawnStage::kPid)
            fmt::print(stderr, "'{}': {}\n", job.program.cmd, problem_text(message, job.program, job.folders));
        return;
    }
    // The parent waits for it; should it be gone there is nobody left to tell.
    if (::write(job.pipe, &message, sizeof message) < 0) ::_exit(1);
}

[[noreturn]] void give_up(const Becoming& job, SpawnStage stage) {
    report(job, stage, errno);
    ::_exit(1);
}

std::string local_time_text() {
    const std::time_t now = std::time(nullptr);
    std::tm local{};
    ::localtime_r(&now, &local);
    std::array<char, 32> text{};
    std::strftime(text.data(), text.size(), "%Y/%m/%d %H:%M:%S", &local);
    return text.data();
}

void redirect(const Becoming& job) {
    const int in = ::open("/dev/null", O_RDONLY);
    const int out = open_own_file(job.program.output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (in < 0 || out < 0) give_up(job, SpawnStage::kOutput);
    if (::dup2(in, STDIN_FILENO) < 0 || ::dup2(out, STDOUT_FILENO) < 0 || ::dup2(out, STDERR_FILENO) < 0) {
        give_up(job, SpawnStage::kOutput);
    }
    if (in > STDERR_FILENO) ::close(in);
    if (out > STDERR_FILENO) ::close(out);
}

void write_pid_file(const Becoming& job) {
    const int fd = open_own_file(job.program.pid_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || !write_all(fd, fmt::format("{}\n", ::getpid()))) give_up(job, SpawnStage::kPidFile);
    ::close(fd);
}

/// Started from `nohup`, or by a program that blocks signals, a daemon would be deaf to bin/stop for its whole life.
void listen_to_signals() {
    for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGCHLD}) ::signal(signal, SIG_DFL);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void become_job(const Becoming& job) {
    const ConfiguredProgram& program = job.program;
    const HostFolders& folders = job.folders;
    report(job, SpawnStage::kPid, ::getpid());
    const bool is_daemon = !program.pid_file.empty();
    if (take_inheritable_lock(program.lock_file.c_str()) < 0) {
        give_up(job, errno == EAGAIN ? SpawnStage::kLockHeld : SpawnStage::kLock);
    }
    if (take_inheritable_place(folders.guard.c_str(), program.place) < 0) {
        give_up(job, errno == EAGAIN ? SpawnStage::kLockHeld : SpawnStage::kGuard);
    }
    if (!job.to_journal) redirect(job);
    if (is_daemon) {
        write_pid_file(job);
        if (!job.to_journal)
            write_all(STDOUT_FILENO, fmt::format("[{}] Executing command: {}\n", local_time_text(), program.cmd));
    }
    if (::chdir(folders.tmp.c_str()) != 0) give_up(job, SpawnStage::kFolder);
    listen_to_signals();
    std::vector<std::string> words = program.words;
    if (program.use_shell) words = {"/bin/sh", "-c", shell_line(program)};
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    ::execvp(argv[0], argv.data());
    const int error = errno;
    write_all(STDERR_FILENO, fmt::format("Couldn't execute '{}': {}\n", program.cmd, std::strerror(error)));
    if (is_daemon) ::unlink(program.pid_file.c_str());
    errno = error;
    give_up(job, SpawnStage::kExec);
}

[[noreturn]] void detach_and_become(const Becoming& job) {
    ::umask(022);
    ::setsid();
    const pid_t child = ::fork();
    if (child < 0) give_up(job, SpawnStage::kFork);
    if (child > 0) ::_exit(0);
    become_job(job);
}

Spawned read_reports(int pipe, const ConfiguredProgram& program, const HostFolders& folders) {
    Spawned result;
    bool failed = false;
    SpawnNote message;
    while (true) {
        const ssize_t n = ::read(pipe, &message, sizeof message);
        if (n < 0 && errno == EINTR) continue;
        if (n != static_cast<ssize_t>(sizeof message)) break;
        if (message.stage == SpawnStage::kPid) {
            result.pid = message.value;
        } else {
            failed = true;
            break;
        }
    }
    if (failed && message.stage == SpawnStage::kLockHeld)
        result.outcome = Spawned::Outcome::kAlreadyRunning;
    else if (failed)
        result.problem = problem_text(message, program, folders);
    else if (result.pid == 0)
        result.problem = "the new process ended at once";
    else
        result.outcome = Spawned::Outcome::kStarted;
    return result;
}

}  // namespace

/// One that can't be read is the child's to tell of.
static bool lock_is_held(const fs::path& file) {
    try {
        return is_locked(file);
    } catch (const FileError&) {
        return false;
    }
}

void become(const ConfiguredProgram& program, const HostFolders& folders, bool to_journal) {
    become_job({program, folders, -1, to_journal});
}

bool is_running(const ConfiguredProgram& program, const HostFolders& folders) {
    // So it is at most calls of cron. The guard's question costs a look at every file that any process has open.
    if (lock_is_held(program.lock_file)) return true;
    // The child takes its place in the guard; this sees places in one that was deleted, too.
    return guard_holders(folders.guard).contains(program.place);
}

Spawned spawn(const ConfiguredProgram& program, const HostFolders& folders) {
    if (is_running(program, folders)) return {Spawned::Outcome::kAlreadyRunning, 0, ""};
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw Error(std::string("Can't make a pipe: ") + std::strerror(errno));
    const pid_t child = ::fork();
    if (child == 0) {
        ::close(ends[0]);
        detach_and_become({program, folders, ends[1]});
    }
    const int fork_error = errno;
    ::close(ends[1]);
    if (child < 0) {
        ::close(ends[0]);
        throw Error(std::string("Can't start a process: ") + std::strerror(fork_error));
    }
    Spawned result = read_reports(ends[0], program, folders);
    ::close(ends[0]);
    wait_for_child(child);
    return result;
}

namespace {

std::vector<fs::path> files_with_suffix(const fs::path& folder, const std::string& suffix) {
    std::vector<fs::path> files;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
        if (entry.path().extension() == suffix) files.push_back(entry.path());
    }
    std::ranges::sort(files);
    return files;
}

struct HeldLock {
    std::string name;        ///< for messages
    bool of_daemon = false;  ///< a daemon of config.xml owns it, or the guard says so; else it may be a task's
};

/// What runs although its lock file is gone.
void add_guarded(const HostFolders& folders, const ConfiguredPrograms& programs, std::map<pid_t, HeldLock>& holders) {
    for (const auto& [place, pid] : guard_holders(folders.guard)) {
        if (!is_daemons_place(place) || holders.contains(pid)) continue;
        const auto program = std::ranges::find(programs.daemons, place, &ConfiguredProgram::place);
        holders[pid] = {program == programs.daemons.end() ? "a daemon that is no longer in config.xml" : program->name,
                        true};
    }
}

/// Of all locks in the folder, and of those that config.xml puts elsewhere; tasks of config.xml are left out.
/// `tell`: of files that can't be asked about.
std::map<pid_t, HeldLock> lock_holders(const HostFolders& folders, const ConfiguredPrograms& programs, bool tell) {
    std::map<fs::path, bool> locks;  // true: a daemon's
    for (const fs::path& file : files_with_suffix(folders.pid, ".lock")) locks[file] = false;
    for (const ConfiguredProgram& program : programs.tasks) locks.erase(program.lock_file);
    for (const ConfiguredProgram& program : programs.daemons) {
        if (!program.name.empty()) locks[program.lock_file] = true;
    }
    std::map<pid_t, HeldLock> holders;
    for (const auto& [file, of_daemon] : locks) {
        try {
            if (const auto holder = lock_holder(file)) holders[*holder] = {file.stem().string(), of_daemon};
        } catch (const FileError& error) {  // another account's: the others have to be stopped all the same
            if (tell) fmt::print(stderr, "{}\nGoing on without it\n", error.what());
        }
    }
    add_guarded(folders, programs, holders);
    return holders;
}

pid_t read_pid(const fs::path& file) {
    // Whoever may write in the folder could keep us waiting for what nobody writes into a pipe.
    if (std::error_code ignored; !fs::is_regular_file(fs::symlink_status(file, ignored))) return 0;
    try {
        const auto text = read_file(file, 4096);
        const auto pid = text && !trim(*text).empty() ? parse_int(trim(*text)) : std::nullopt;
        return pid && *pid > 0 && *pid <= 0x7fffffff ? static_cast<pid_t>(*pid) : 0;
    } catch (const FileError&) {
        return 0;
    }
}

/// Pid files of the folder, and those that config.xml puts elsewhere, by the pid in them; 0: unreadable.
std::map<pid_t, std::vector<fs::path>> pid_files(const HostFolders& folders, const ConfiguredPrograms& programs) {
    std::set<fs::path> files;
    for (const fs::path& file : files_with_suffix(folders.pid, ".pid")) files.insert(file);
    for (const ConfiguredProgram& program : programs.daemons) {
        std::error_code ignored;
        if (!program.name.empty() && fs::exists(program.pid_file, ignored)) files.insert(program.pid_file);
    }
    std::map<pid_t, std::vector<fs::path>> by_pid;
    for (const fs::path& file : files) by_pid[read_pid(file)].push_back(file);
    return by_pid;
}

}  // namespace

PidFolder find_running(const HostFolders& folders, const ConfiguredPrograms& programs) {
    PidFolder found;
    auto files = pid_files(folders, programs);
    std::map<pid_t, ProcessHandle> handles;
    for (const auto& [pid, lock] : lock_holders(folders, programs, true)) {
        if (auto handle = ProcessHandle::open(pid)) handles.emplace(pid, std::move(*handle));
    }
    // Only now the proof: what holds a lock while a handle is on it can't be a later process of the same
    // number.
    for (const auto& [pid, lock] : lock_holders(folders, programs, false)) {
        const auto handle = handles.find(pid);
        if (handle == handles.end()) continue;
        // Only daemons have pid files: without one it is a task that is no longer in config.xml.
        if (!lock.of_daemon && !files.contains(pid)) continue;
        found.running.push_back({std::move(handle->second), lock.name, std::move(files[pid])});
        files.erase(pid);
    }
    for (const auto& [pid, stale] : files) found.stale.insert(found.stale.end(), stale.begin(), stale.end());
    return found;
}

namespace {

/// Scripts look for a pid with kill -0, which still finds an ended process until init has reaped it.
void wait_until_reaped(const PidFolder& found) {
    const auto is_zombie = [](const RunningDaemon& daemon) {
        return daemon.handle.ended() && daemon.handle.send(0) == 0;
    };
    for (int i = 0; i < 50 && std::ranges::any_of(found.running, is_zombie); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
}

}  // namespace

StopOutcome stop_all(const PidFolder& found, double wait, bool verbose) {
    StopOutcome outcome;
    for (const RunningDaemon& daemon : found.running) {
        const int error = daemon.handle.send(SIGHUP);
        if (error == 0) ++outcome.signalled;
        if (error != 0 && error != ESRCH) {
            fmt::print(stderr, "Can't signal {} (pid {}): {}\n", daemon.name, daemon.handle.pid(),
                       std::strerror(error));
        } else if (verbose && error == 0) {
            fmt::print("  Told {} (pid {}) to stop\n", daemon.name, daemon.handle.pid());
        }
    }
    std::fflush(stdout);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(wait);
    const auto ended = [](const RunningDaemon& daemon) { return daemon.handle.ended(); };
    while (!std::ranges::all_of(found.running, ended) && std::chrono::steady_clock::now() < deadline) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    wait_until_reaped(found);
    std::error_code ignored;
    for (const RunningDaemon& daemon : found.running) {
        if (!ended(daemon)) {
            outcome.still_running.push_back(fmt::format("{} (pid {})", daemon.name, daemon.handle.pid()));
            continue;
        }
        for (const fs::path& file : daemon.pid_files) fs::remove(file, ignored);
    }
    for (const fs::path& file : found.stale) fs::remove(file, ignored);
    return outcome;
}

}  // namespace sluice
