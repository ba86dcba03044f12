// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Starts programs for tests: arguments, environment, stdin, folder; collects stdout, stderr and the exit
// status. A program never outlives its Subprocess, nor a test program that was killed.
#include <sys/types.h>

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/accounts.h"

namespace sluice::test {

struct RunOptions {
    std::map<std::string, std::string> env{};  ///< added to, or replacing, the test's own environment
    std::vector<std::string> unset{};          ///< taken out of it
    std::string stdin_text{};
    int stdin_fd = -1;  ///< instead of stdin_text; the caller closes it
    std::filesystem::path cwd{};
    Role run_as = Role::kProject;
    bool own_group = false;  ///< leads a process group of its own, which a GroupGuard can end
    /// Its CPU time begins with the program. Otherwise it has a copy of this process's memory until then, which costs
    /// it more than a small program needs. With this the calling thread waits until the program has begun.
    bool by_vfork = false;
};

struct RunResult {
    int status = -1;  ///< exit status; 128 + signal if one ended the program
    int signal = 0;
    double cpu = 0;  ///< s, user and system, of it and of the children that it waited for
    std::string out, err;
};

class Subprocess {
  public:
    /// args[0] is the program's path (looked up in PATH without a slash). Throws if it can't be started.
    explicit Subprocess(const std::vector<std::string>& args, const RunOptions& options = {});
    Subprocess(Subprocess&& other) noexcept;
    Subprocess& operator=(Subprocess&&) = delete;
    ~Subprocess();  ///< SIGKILL and reap if it still runs

    pid_t pid() const { return pid_; }
    bool running();
    void send_signal(int signal) const;
    /// It is on its way no more: the program has it, or has put it off.
    bool signal_arrived(int signal) const;
    /// It has a handler for it: a daemon stops in good order from now on.
    bool catches(int signal) const;
    double cpu_seconds() const;
    /// With its children, those that live and those that it waited for.
    double family_cpu_seconds() const;
    /// nullopt if it still runs after `timeout` seconds.
    std::optional<RunResult> wait(double timeout = 180);
    std::string out() const;  ///< what it has printed up to now
    std::string err() const;
    /// True once `text` is in what it has printed on stderr or stdout; false if it ended or time ran out
    /// without.
    bool wait_for_output(const std::string& text, double timeout = 120);

  private:
    void reap(bool block);
    std::uint64_t signal_mask(const std::string& of) const;  ///< "SigCgt" in /proc/PID/status; 0 when it has ended
    pid_t pid_ = -1;
    int pid_fd_ = -1, out_fd_ = -1, err_fd_ = -1;
    std::optional<int> wait_status_;
    double cpu_ = 0;  ///< when it has ended
};

/// Runs a program to its end. Throws if it takes longer than `timeout` seconds (it is killed then).
RunResult run(const std::vector<std::string>& args, const RunOptions& options = {}, double timeout = 180);

/// Polls `condition` every `pause` seconds until it is true (returned) or `timeout` seconds have passed (false). A
/// limit costs nothing where all is well: on a machine that runs sixteen tests at once three seconds become twenty.
bool eventually(const std::function<bool()>& condition, double timeout = 120, double pause = 0.005);

}  // namespace sluice::test
