// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/scenario/start/start_fixture.h"

#include <csignal>
#include <fstream>
#include <iterator>
#include <sstream>

#include "config/run/process_lock.h"
#include "sluice/base/project.h"
#include "tests/support/paths.h"

namespace sluice::test {
namespace fs = std::filesystem;

StartTest::StartTest() : host_(short_host_name()) {
    fs::create_directories(dir_ / "bin");
    for (const char* name : {"start", "stop", "status"}) {
        fs::create_symlink(fs::path(sluice::test::binary_dir()) / "bin" / "start", dir_ / "bin" / name);
    }
}

StartTest::~StartTest() {
    // Whatever a failed test has left behind: only processes that hold a lock of this project.
    std::error_code ignored;
    for (const auto& [place, pid] : guard_holders(dir_ / ("run_lock_" + host_))) ::kill(pid, SIGKILL);
    for (const auto& entry : fs::directory_iterator(pid_dir(), ignored)) {
        if (const pid_t pid = holder(entry.path().filename()); pid > 0) ::kill(pid, SIGKILL);
    }
}

void StartTest::config(const std::string& daemons_and_tasks, const std::string& options) {
    dir_.write("config.xml", "<boinc>\n<config>\n<db_name>none</db_name>\n" + options + "\n</config>\n" +
                                 daemons_and_tasks + "\n</boinc>\n");
}

void StartTest::script(const std::string& name, const std::string& body) {
    const fs::path file = dir_.write("bin/" + name, "#!/bin/sh\n" + body + "\n");
    fs::permissions(file, fs::perms::owner_all);
}

RunResult StartTest::run_program(const std::string& name, const std::vector<std::string>& arguments,
                                 const std::map<std::string, std::string>& env) {
    std::vector<std::string> words{(dir_ / "bin" / name).string()};
    words.insert(words.end(), arguments.begin(), arguments.end());
    RunOptions options;
    options.cwd = dir_.path();
    options.env = env;
    options.unset = {"BOINC_PROJECT_DIR"};
    return run(words, options);
}

std::string StartTest::text_of(const fs::path& file) const {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

bool StartTest::says(const std::string& log, const std::string& text) const {
    return eventually([&] { return text_of(log_dir() / log).find(text) != std::string::npos; });
}

pid_t StartTest::start_napper() {
    script("napper", kSleeper);
    config("<daemons><daemon><cmd>napper</cmd></daemon></daemons>");
    EXPECT_EQ(run_program("start").status, 0);
    return holder("napper.lock");
}

pid_t StartTest::holder(const std::string& lock) const { return lock_holder(pid_dir() / lock).value_or(0); }

namespace {

struct ProcessState {
    char state = 'X';
    pid_t group = 0;
};
ProcessState state_of(const std::string& pid) {
    std::ifstream in("/proc/" + pid + "/stat");
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    const std::size_t name_end = text.rfind(") ");
    ProcessState found;
    pid_t parent = 0;
    if (name_end != std::string::npos)
        std::istringstream(text.substr(name_end + 2)) >> found.state >> parent >> found.group;
    return found;
}
bool is_dead(const ProcessState& process) { return process.state == 'X' || process.state == 'Z'; }

}  // namespace

void StartTest::expect_stop_forgets_none(const std::vector<pid_t>& daemons) {
    EXPECT_EQ(run_program("stop").status, 0);
    for (const pid_t pid : daemons) EXPECT_TRUE(has_ended(pid)) << pid;
    EXPECT_EQ(run_program("start").status, 0);
    EXPECT_GT(holder("napper.lock"), 0);
    EXPECT_EQ(run_program("stop").status, 0);
}

bool has_ended(pid_t pid) { return is_dead(state_of(std::to_string(pid))); }

int group_members(pid_t group) {
    int members = 0;
    for (const auto& entry : fs::directory_iterator("/proc")) {
        const std::string name = entry.path().filename();
        if (name.find_first_not_of("0123456789") != std::string::npos) continue;
        const ProcessState process = state_of(name);
        if (process.group == group && !is_dead(process)) ++members;
    }
    return members;
}

}  // namespace sluice::test
