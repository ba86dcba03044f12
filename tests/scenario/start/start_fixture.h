// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {

/// A project whose bin/ holds small shell scripts as daemons, and start, stop and status as links.
class StartTest : public testing::Test {
  protected:
    StartTest();
    ~StartTest() override;

    void config(const std::string& daemons_and_tasks, const std::string& options = "");
    /// bin/NAME, a shell script.
    void script(const std::string& name, const std::string& body);
    RunResult run_program(const std::string& name, const std::vector<std::string>& arguments = {},
                          const std::map<std::string, std::string>& env = {});

    std::filesystem::path pid_dir() const { return dir_ / ("pid_" + host_); }
    std::filesystem::path log_dir() const { return dir_ / ("log_" + host_); }
    std::string text_of(const std::filesystem::path& file) const;
    /// Waits until log_HOST/LOG has that text. bin/start may come back before a daemon has said anything.
    bool says(const std::string& log, const std::string& text) const;
    /// Who holds pid_HOST/NAME.lock; 0: nobody.
    pid_t holder(const std::string& lock) const;
    /// napper, a sleeper, as the only daemon, started by bin/start; its pid, 0: it does not run.
    pid_t start_napper();
    /// bin/stop ends these daemons, after which napper can be started and stopped as ever.
    void expect_stop_forgets_none(const std::vector<pid_t>& daemons);
    bool exists(const std::filesystem::path& name) const { return std::filesystem::exists(dir_ / name); }

    TempDir dir_;
    std::string host_;
};

/// s since 1970.
inline double now() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// Gone, or a zombie that init has not reaped yet.
bool has_ended(pid_t pid);
/// Living processes of a process group.
int group_members(pid_t group);

/// A daemon that says what it is and sleeps until a signal ends it.
inline constexpr const char* kSleeper = "echo \"$0 $* in $PWD umask $(umask)\"; exec sleep 1000";
/// A daemon that SIGHUP does not end, once it has said "ignores it".
inline constexpr const char* kDeaf = "trap '' HUP; echo ignores it; while true; do sleep 0.05; done";

}  // namespace sluice::test
