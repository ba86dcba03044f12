// SPDX-License-Identifier: LGPL-3.0-or-later
// sluice_sim as a program: what compare makes of its two files, and the bar that is shown where somebody looks.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <sstream>

#include "sluice/base/files.h"
#include "tests/support/paths.h"
#include "tests/support/request_text.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// Hosts that are alike but for their cores: few seeds tell ten of them from forty.
constexpr const char* kScenario = R"({"days": 2,
  "fleet": {"hosts": 10, "speed_sigma": 0, "always_on": 1, "daily": 0, "lifetime_days": 0}, "config": {"shmem_work_items": 50},
  "work": [{"kind": "stream", "keep": 50, "size_hours": 1}]})";

class SimCommand : public testing::Test {
  protected:
    SimCommand() { folder.write("s.json", kScenario); }
    RunResult sim(std::vector<std::string> args) {
        args.insert(args.begin(), binary_dir() + "/bin/sluice_sim");
        RunOptions options;
        options.cwd = folder.path();
        return run(args, options, 300);
    }
    TempDir folder;
};

TEST_F(SimCommand, FieldsOfOverrideCountInOneRunOnly) {
    folder.write("a.json", "{}");
    folder.write("b.json", R"({"fleet": {"hosts": 40}})");
    const RunResult r = sim({"compare", "a.json", "b.json", "s.json", "--seeds", "4", "--out", "d"});
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(r.err, "") << "no bar where nobody looks";
    EXPECT_THAT(r.out, HasSubstr("s on seeds 1 to 4: A is a.json, B is b.json"));
    EXPECT_THAT(r.out, ContainsRegex("Most changed: .* (rises|falls) from .* with b\\.json"));
    const auto written = read_file(folder / "d/compare.json");
    ASSERT_TRUE(written);
    EXPECT_THAT(*written, HasSubstr("\"jobs done a day\""));
}

TEST_F(SimCommand, TheSameFileTwiceDiffersInNothing) {
    folder.write("a.xml", "<boinc><config><shmem_work_items>50</shmem_work_items></config></boinc>");
    const RunResult r = sim({"compare", "a.xml", "a.xml", "s.json", "--seeds", "2"});
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_THAT(r.out, HasSubstr("No figure differs by more than the seeds do."));
    EXPECT_THAT(r.out, Not(ContainsRegex("\n[a-z].* \\+[1-9]")));
}

TEST_F(SimCommand, ListInOverrideReplacesWholeOne) {
    folder.write("a.json", "{}");
    folder.write("b.json", R"({"work": []})");
    const RunResult r = sim({"compare", "a.json", "b.json", "s.json", "--seeds", "2"});
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_THAT(r.out, ContainsRegex("jobs done a day +[1-9][^ ]* +0 +-"));
}

// docs/simulator.md, with a smaller scenario in place of the demo. What needs a database or recorded requests is left
// out.
TEST_F(SimCommand, CommandsOfThePageRunAsTheyStand) {
    const std::string config = "<boinc><config><shmem_work_items>50</shmem_work_items></config></boinc>";
    for (const char* name : {"a.xml", "b.xml", "PROJECT/config.xml"}) folder.write(name, config);
    folder.write("my.json", kScenario);
    folder.write("nothing.json", "{}");
    folder.write("more_hosts.json", R"({"fleet": {"hosts": 20}})");
    RunOptions options;
    options.cwd = folder.path();
    std::istringstream page(read_file(source_dir() + "/docs/simulator.md").value_or(""));
    int commands = 0;
    for (std::string line; std::getline(page, line);) {
        if (!line.starts_with("    sluice_sim ")) continue;
        line = std::regex_replace(line.substr(0, line.find(" # ")), std::regex("\\bdemo\\b"), "s.json");
        if (std::regex_search(line, std::regex("hosts PROJECT|--from-project|--replay"))) continue;
        const RunResult r = run({"sh", "-c", "PATH=" + binary_dir() + "/bin:$PATH;" + line}, options, 300);
        EXPECT_EQ(r.status, 0) << line << "\n" << r.err;
        ++commands;
    }
    EXPECT_EQ(commands, 6);
    EXPECT_TRUE(std::filesystem::exists(folder / "d/report.html"));
    EXPECT_TRUE(std::filesystem::exists(folder / "jobs.csv"));
}

TEST_F(SimCommand, WrongFilesAreNamedInOneLine) {
    folder.write("a.json", "{}");
    folder.write("b.json", R"({"fleet": {"hots": 40}})");
    folder.write("empty/x.txt", "");
    const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
        {{"compare", "a.json", "b.json", "s.json"}, "hots"},
        {{"compare", "a.json", "none.xml", "s.json"}, "none.xml is not there"},
        {{"run", "s.json", "--replay", "none"}, "none is no folder"},
        {{"compare", "a.json", "a.json", "s.json", "--replay", "empty"}, "<debug_req_reply_dir>"}};
    for (const auto& [args, named] : cases) {
        const RunResult r = sim(args);
        EXPECT_EQ(r.status, 2) << named;
        EXPECT_THAT(r.err, HasSubstr(named));
        EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
    }
}

TEST_F(SimCommand, BothRunsOfAComparisonAreReplayed) {
    folder.write("a.xml", "<boinc><config></config></boinc>");
    folder.write("b.xml", "<boinc><config><dont_send_jobs/></config></boinc>");
    RequestText asks = asking(7, 5000);
    for (int i = 0; i < 4; ++i, ++asks.seqno) {
        const auto file = folder.write("kept/1_" + std::to_string(i) + "_sched_request.xml", asks.text());
        std::filesystem::last_write_time(
            file, std::filesystem::last_write_time(folder / "a.xml") + std::chrono::hours(3 * i));
    }
    folder.write("kept/2_1_sched_request.xml", "nothing of the kind");
    const RunResult r = sim({"compare", "a.xml", "b.xml", "s.json", "--seeds", "2", "--replay", "kept"});
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_THAT(r.err, AllOf(HasSubstr("1 of 5 files are left out"), HasSubstr("2_1_sched_request.xml")));
    EXPECT_THAT(r.out, ContainsRegex("requests +4 +4"));
    EXPECT_THAT(r.out, ContainsRegex("requests answered empty +0 +4"));
}

/// What a terminal got on standard error.
std::string seen_on_terminal(std::vector<std::string> args) {
    int terminal = -1, program = -1;
    if (::openpty(&terminal, &program, nullptr, nullptr, nullptr) != 0) throw std::runtime_error("no pseudo-terminal");
    const std::string device = ::ttyname(program);
    std::string command = "exec \"$@\" 2>'" + device + "'";
    args.insert(args.begin(), {"/bin/sh", "-c", command, "sh"});
    std::string seen;
    {
        Subprocess sim(args);
        const auto read_some = [&] {
            pollfd ready{terminal, POLLIN, 0};
            if (::poll(&ready, 1, 50) <= 0) return false;
            char buffer[4096];
            const ssize_t n = ::read(terminal, buffer, sizeof buffer);
            if (n > 0) seen.append(buffer, static_cast<std::size_t>(n));
            return n > 0;
        };
        while (sim.running()) read_some();
        while (read_some()) {
        }
        const auto ended = sim.wait();
        EXPECT_TRUE(ended && ended->status == 0);
    }
    ::close(program);
    ::close(terminal);
    return seen;
}

TEST_F(SimCommand, TerminalGetsBarWithTimeLeftGoneLast) {
    const std::string seen =
        seen_on_terminal({binary_dir() + "/bin/sluice_sim", "run", (folder / "s.json").string(), "--seed", "1"});
    EXPECT_THAT(seen, StartsWith("\r[."));
    EXPECT_THAT(seen, ContainsRegex("\r\\[####################\\.+\\]  5[0-9] %  [0-9]+ s left "));
    EXPECT_TRUE(seen.ends_with("\r\x1b[K")) << seen.substr(seen.size() - std::min<std::size_t>(seen.size(), 80));
    EXPECT_LT(std::count(seen.begin(), seen.end(), '\r'), 110) << "a hundred steps, not one for each event";
}

TEST_F(SimCommand, AnUnwritableFileIsFoundFirst) {
    const RunResult r = sim({"run", "s.json", "--jobs", "nowhere/jobs.csv"});
    EXPECT_EQ(r.status, 2);
    EXPECT_THAT(r.err, HasSubstr("--jobs nowhere/jobs.csv: there is no folder nowhere"));
    EXPECT_EQ(r.out, "") << "nothing was run";
}

TEST_F(SimCommand, ASignalEndsItBeforeItsScenario) {
    const std::string pipe = (folder / "pipe").string();
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    Subprocess sim({binary_dir() + "/bin/sluice_sim", "run", pipe});
    int writer = -1;  // can be opened as soon as it is being read
    EXPECT_TRUE(eventually([&] { return (writer = ::open(pipe.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC)) >= 0; }));
    sim.send_signal(SIGTERM);
    const auto ended = sim.wait();
    ::close(writer);
    ASSERT_TRUE(ended) << "it waits on";
    EXPECT_EQ(ended->signal, SIGTERM);
}

}  // namespace
}  // namespace sluice::test
