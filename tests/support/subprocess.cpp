// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/support/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <utility>

extern char** environ;

namespace sluice::test {
namespace {

using SteadyClock = std::chrono::steady_clock;

[[noreturn]] void fail(const std::string& what) { throw std::system_error(errno, std::generic_category(), what); }

int memory_file(const char* name) {
    const int fd = ::memfd_create(name, MFD_CLOEXEC);
    if (fd < 0) fail("memfd_create");
    return fd;
}

int stdin_file(const std::string& text) {
    const int fd = memory_file("stdin");
    for (std::size_t done = 0; done < text.size();) {
        const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
        if (n < 0) fail("writing stdin");
        done += static_cast<std::size_t>(n);
    }
    ::lseek(fd, 0, SEEK_SET);
    return fd;
}

/// CPU time in s of all its threads, to the nanosecond; 0 when it has ended.
double cpu_of(pid_t pid) {
    clockid_t clock{};
    timespec t{};
    if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &t) != 0) return 0;
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

/// Of children that it waited for, in hundredths: fields 16 and 17 of /proc/PID/stat.
double cpu_of_ended_children(pid_t pid) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string name, text;
    std::getline(stat, name, ')');
    long long ticks = 0;
    for (int field = 3; field <= 17 && stat >> text; ++field)
        if (field >= 16) ticks += std::stoll(text);
    return static_cast<double>(ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

double cpu_of_family(pid_t pid) {
    const std::string id = std::to_string(pid);
    std::ifstream children("/proc/" + id + "/task/" + id + "/children");
    double all = cpu_of(pid) + cpu_of_ended_children(pid);
    for (pid_t child = 0; children >> child;) all += cpu_of_family(child);
    return all;
}

double seconds_of(const timeval& t) { return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec); }

std::string content(int fd) {
    struct stat info {};
    if (::fstat(fd, &info) != 0) fail("fstat");
    std::string text(static_cast<std::size_t>(info.st_size), '\0');
    const ssize_t n = ::pread(fd, text.data(), text.size(), 0);
    text.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
    return text;
}

std::vector<std::string> environment(const RunOptions& options) {
    std::map<std::string, std::string> values;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string text(*entry);
        values[text.substr(0, text.find('='))] = text;
    }
    for (const auto& name : options.unset) values.erase(name);
    for (const auto& [name, value] : options.env) values[name] = name + '=' + value;
    std::vector<std::string> out;
    for (auto& [name, text] : values) out.push_back(std::move(text));
    return out;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> out;
    for (auto& text : texts) out.push_back(text.data());
    out.push_back(nullptr);
    return out;
}

/// Everything the child needs, made before the fork: between fork and exec only system calls.
struct Child {
    std::vector<char*> args, env;
    const char* cwd;
    int in, out, err, status_fd;
    pid_t parent;
    Role role;
    bool own_group;

    [[noreturn]] void run() const {
        if (own_group) ::setpgid(0, 0);
        const bool is_that_account = become(role);
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // after a change of accounts, which undoes it
        sigset_t none;
        sigemptyset(&none);
        ::sigprocmask(SIG_SETMASK, &none, nullptr);
        const bool ready = is_that_account && ::getppid() == parent && ::dup2(in, 0) >= 0 && ::dup2(out, 1) >= 0 &&
                           ::dup2(err, 2) >= 0 && (cwd == nullptr || ::chdir(cwd) == 0);
        if (ready) ::execvpe(args[0], args.data(), env.data());
        const int error = errno;
        const ssize_t ignored = ::write(status_fd, &error, sizeof error);
        ::_exit(ignored > 0 ? 127 : 126);
    }
};

/// In a function of its own, whose variables the child can't change.
[[gnu::noinline]] pid_t start_by_vfork(const Child& child) {
    const pid_t pid = ::vfork();  // NOLINT: the child makes system calls only
    if (pid == 0) child.run();
    return pid;
}

}  // namespace

Subprocess::Subprocess(const std::vector<std::string>& args, const RunOptions& options) {
    std::vector<std::string> arg_texts = args, env_texts = environment(options);
    const std::string cwd = options.cwd.string();
    const int in = options.stdin_fd >= 0 ? options.stdin_fd : stdin_file(options.stdin_text);
    // Opened for append: what the test reads with pread never disturbs the offset that the program writes at.
    out_fd_ = memory_file("stdout");
    err_fd_ = memory_file("stderr");
    ::fcntl(out_fd_, F_SETFL, O_APPEND);
    ::fcntl(err_fd_, F_SETFL, O_APPEND);
    int status_pipe[2];
    if (::pipe2(status_pipe, O_CLOEXEC) != 0) fail("pipe");
    const Child child{pointers(arg_texts),
                      pointers(env_texts),
                      cwd.empty() ? nullptr : cwd.c_str(),
                      in,
                      out_fd_,
                      err_fd_,
                      status_pipe[1],
                      ::getpid(),
                      options.run_as,
                      options.own_group};
    pid_ = options.by_vfork ? start_by_vfork(child) : ::fork();
    if (pid_ == 0) child.run();
    ::close(status_pipe[1]);
    if (in != options.stdin_fd) ::close(in);
    int error = 0;
    const ssize_t n = ::read(status_pipe[0], &error, sizeof error);
    ::close(status_pipe[0]);
    if (pid_ < 0) fail("fork");
    if (n > 0) {
        reap(true);
        errno = error;
        fail("can't start " + args.at(0));
    }
    // Not pidfd_open(): glibc 2.36 declares it without extern "C".
    pid_fd_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
    if (pid_fd_ < 0) fail("pidfd_open");
}

Subprocess::Subprocess(Subprocess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pid_fd_(std::exchange(other.pid_fd_, -1)),
      out_fd_(std::exchange(other.out_fd_, -1)),
      err_fd_(std::exchange(other.err_fd_, -1)),
      wait_status_(other.wait_status_),
      cpu_(other.cpu_) {}

Subprocess::~Subprocess() {
    if (pid_ > 0 && !wait_status_) {
        ::kill(pid_, SIGKILL);
        reap(true);
    }
    for (const int fd : {pid_fd_, out_fd_, err_fd_}) {
        if (fd >= 0) ::close(fd);
    }
}

void Subprocess::reap(bool block) {
    if (wait_status_) return;
    int status = 0;
    pid_t got = -1;
    rusage used{};
    do {
        got = ::wait4(pid_, &status, block ? 0 : WNOHANG, &used);
    } while (got < 0 && errno == EINTR);
    if (got != pid_) return;
    wait_status_ = status;
    cpu_ = seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
}

bool Subprocess::running() {
    reap(false);
    return !wait_status_;
}

void Subprocess::send_signal(int signal) const {
    if (!wait_status_) ::kill(pid_, signal);
}

std::uint64_t Subprocess::signal_mask(const std::string& of) const {
    std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
    for (std::string line; std::getline(status, line);)
        if (line.starts_with(of + ":")) return std::stoull(line.substr(of.size() + 1), nullptr, 16);
    return 0;
}

bool Subprocess::signal_arrived(int signal) const {
    const std::uint64_t waiting = (signal_mask("SigPnd") | signal_mask("ShdPnd")) & ~signal_mask("SigBlk");
    return (waiting & std::uint64_t{1} << (signal - 1)) == 0;
}

bool Subprocess::catches(int signal) const { return (signal_mask("SigCgt") & std::uint64_t{1} << (signal - 1)) != 0; }

double Subprocess::cpu_seconds() const { return cpu_of(pid_); }
double Subprocess::family_cpu_seconds() const { return cpu_of_family(pid_); }

std::optional<RunResult> Subprocess::wait(double timeout) {
    const auto end = SteadyClock::now() + std::chrono::duration<double>(timeout);
    reap(false);
    while (!wait_status_) {
        const double left = std::chrono::duration<double>(end - SteadyClock::now()).count();
        if (left <= 0) return std::nullopt;
        pollfd event{pid_fd_, POLLIN, 0};
        ::poll(&event, 1, static_cast<int>(left * 1000) + 1);
        reap(false);
    }
    RunResult result;
    result.signal = WIFSIGNALED(*wait_status_) ? WTERMSIG(*wait_status_) : 0;
    result.status = result.signal != 0 ? 128 + result.signal : WEXITSTATUS(*wait_status_);
    result.cpu = cpu_;
    result.out = out();
    result.err = err();
    return result;
}

std::string Subprocess::out() const { return content(out_fd_); }
std::string Subprocess::err() const { return content(err_fd_); }

bool Subprocess::wait_for_output(const std::string& text, double timeout) {
    bool found = false;
    eventually(
        [&] {
            const bool ended = !running();  // before reading: its last words count
            found = err().find(text) != std::string::npos || out().find(text) != std::string::npos;
            return found || ended;
        },
        timeout);
    return found;
}

RunResult run(const std::vector<std::string>& args, const RunOptions& options, double timeout) {
    Subprocess process(args, options);
    auto result = process.wait(timeout);
    if (!result) {
        throw std::runtime_error(args.at(0) + " did not end in time; stderr so far:\n" + process.err() +
                                 "\nand stdout:\n" + process.out());
    }
    return std::move(*result);
}

bool eventually(const std::function<bool()>& condition, double timeout, double pause) {
    const auto end = SteadyClock::now() + std::chrono::duration<double>(timeout);
    for (;;) {
        if (condition()) return true;
        if (SteadyClock::now() >= end) return false;
        ::usleep(static_cast<useconds_t>(pause * 1e6));
    }
}

}  // namespace sluice::test
