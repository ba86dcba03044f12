// SPDX-License-Identifier: LGPL-3.0-or-later
// Projects in which something is broken: clients get a well-formed "come back later", the log has one line that says
// what to do, and when it is mended the same processes serve again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "sluice/shmem/job_array.h"
#include "tests/support/paths.h"
#include "tests/support/scheduler_server.h"
#include "tests/support/segment_files.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;

std::string read(const fs::path& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

class World {
  public:
    World() {
        project.set_options("<maintenance_delay>77</maintenance_delay>");
        project.store();
        project.add_unsent_jobs(200);
        project.start_feeder();
    }
    fs::path config() const { return project.folder() / "config.xml"; }
    void edit_config(const std::string& from, const std::string& to) const {
        std::string text = read(config());
        text.replace(text.find(from), from.size(), to);
        std::ofstream(config(), std::ios::trunc) << text;
    }
    TestProject project{PrivateMariaDb::shared(), "broken"};
};

struct Breakage {
    std::string name;
    std::function<void(World&)> breaks, mends;
    std::string client_is_told, log_says;
    bool known_before_serves = false;  ///< a process that has read it whole goes on with what it knows
};

/// Flips bits in the segment of the project's feeder; a second call undoes it.
void flip_in_segment(World& world, off_t at, std::uint32_t bits) {
    const JobArrayName name = job_array_name(0x10000000 + ::getpid(), world.project.folder());
    const int fd = ::open(content_file(name).c_str(), O_RDWR);
    std::uint32_t value = 0;
    bool done = ::pread(fd, &value, sizeof value, at) == sizeof value;
    value ^= bits;
    done = done && ::pwrite(fd, &value, sizeof value, at) == sizeof value;
    ::close(fd);
    if (!done) throw std::runtime_error("can't change the segment " + name.prefix);
}

const std::vector<Breakage>& breakages() {
    static const auto rename_file = [](const char* from, const char* to) {
        return [=](World& w) { fs::rename(w.project.folder() / from, w.project.folder() / to); };
    };
    static const auto mode_of = [](const char* file, int mode) {
        return [=](World& w) { ::chmod((w.project.folder() / file).c_str(), static_cast<mode_t>(mode)); };
    };
    static const auto config = [](const std::string& from, const std::string& to) {
        return [=](World& w) { w.edit_config(from, to); };
    };
    static const std::string cant_parse = "Server can't parse configuration file",
                             no_database = "Server can't open database";
    static const std::vector<Breakage> all = {
        {"NoConfigXml", rename_file("config.xml", "config.away"), rename_file("config.away", "config.xml"), cant_parse,
         "config\\.xml", true},
        {"ConfigXmlEndsInTheMiddle", config("</config>\n</boinc>", "<!--"), config("<!--", "</config>\n</boinc>"),
         cant_parse, "config\\.xml", true},
        {"AWrongValueByWhichFilesAreFound",
         config("</config>\n</boinc>", "<uldl_dir_fanout>many</uldl_dir_fanout></config>\n</boinc>"),
         config("<uldl_dir_fanout>many</uldl_dir_fanout></config>\n</boinc>", "</config>\n</boinc>"), cant_parse,
         "uldl_dir_fanout.*many", true},
        {"ConfigXmlIsUnreadable", mode_of("config.xml", 0), mode_of("config.xml", 0644), cant_parse,
         "config\\.xml.*[Pp]ermission denied", true},
        {"NoSigningKey", rename_file("keys/code_sign_public", "keys/away"),
         rename_file("keys/away", "keys/code_sign_public"), "Server can't find key file", "code_sign_public", true},
        {"WrongPassword", config("<db_passwd>", "<db_passwd>wrong"), config("<db_passwd>wrong", "<db_passwd>"),
         no_database, "refuses user 'root': check <db_user> and <db_passwd>"},
        {"NoSuchDatabase", config("<db_name>broken<", "<db_name>nowhere<"),
         config("<db_name>nowhere<", "<db_name>broken<"), no_database, "nowhere"},
        {"NoFeeder", [](World& w) { w.project.stop_daemons(); }, [](World& w) { w.project.start_feeder(); },
         "Server error: feeder not running", "[Ff]eeder.*start the (project's )?feeder"},
        {"ASegmentOfAnotherLayout", [](World& w) { flip_in_segment(w, 8, 64); },
         [](World& w) { flip_in_segment(w, 8, 64); }, "Server error: can't attach shared memory",
         "has layout .*this program has layout .*restart the feeder", true},
        {"ASegmentOfSomethingElse", [](World& w) { flip_in_segment(w, 0, 0x12345678); },
         [](World& w) { flip_in_segment(w, 0, 0x12345678); }, "Server error: can't attach shared memory",
         "is not a job array.*restart the feeder", true},
    };
    return all;
}

struct Case {
    Served how;
    std::size_t breakage;
};

class Environment : public testing::TestWithParam<Case> {};

TEST_P(Environment, ClientsComeBackAndTheLogSaysWhy) {
    const Breakage& b = breakages().at(GetParam().breakage);
    World world;
    SchedulerServer served(world.project, GetParam().how);
    const std::string request = work_request(0, 1, 1);
    // Broken from the beginning: no process has seen it whole.
    b.breaks(world);
    const HttpReply reply = served.post(request);
    EXPECT_EQ(malformed(reply), "") << served.logs();
    EXPECT_THAT(reply.body, HasSubstr(b.client_is_told)) << served.logs();
    EXPECT_THAT(reply.body, HasSubstr("<project_is_down/>"));
    EXPECT_THAT(elements(reply.body, "request_delay"), testing::SizeIs(1));
    const std::string logs = served.logs();
    std::vector<std::string> lines;
    for (std::size_t at = 0, end = 0; at < logs.size(); at = end + 1) {
        end = std::min(logs.find('\n', at), logs.size());
        const std::string line = logs.substr(at, end - at);
        if (line.find("[CRITICAL]") != std::string::npos) lines.push_back(line);
    }
    ASSERT_EQ(lines.size(), 1u) << logs;
    EXPECT_THAT(lines.front(), testing::ContainsRegex(b.log_says));
    // Mended: whoever is there serves.
    b.mends(world);
    EXPECT_TRUE(eventually([&] { return served.post(request).body.find("<hostid>") != std::string::npos; }))
        << served.logs();
    // Broken again while processes are there that knew it whole.
    b.breaks(world);
    const HttpReply again = served.post(request);
    EXPECT_EQ(malformed(again), "") << served.logs();
    const bool knew = GetParam().how != Served::kCgi && b.known_before_serves;
    EXPECT_THAT(again.body, HasSubstr(knew ? "<hostid>" : b.client_is_told)) << served.logs();
    b.mends(world);
    EXPECT_TRUE(eventually([&] { return served.post(request).body.find("<hostid>") != std::string::npos; }))
        << served.logs();
}

std::vector<Case> cases() {
    std::vector<Case> all;
    for (const Served how : {Served::kCgi, Served::kFcgid})
        for (std::size_t i = 0; i < breakages().size(); ++i) all.push_back({how, i});
    return all;
}
INSTANTIATE_TEST_SUITE_P(All, Environment, testing::ValuesIn(cases()),
                         [](const auto& c) { return breakages().at(c.param.breakage).name + name_of(c.param.how); });

class Logs : public testing::TestWithParam<Served> {};

TEST_P(Logs, AFullOrForbiddenLogStopsNobody) {
    World world;
    const fs::path folder = world.project.scheduler_log_file().parent_path();
    fs::create_directories(folder);
    fs::remove(folder / "scheduler.log");
    fs::create_symlink("/dev/full", folder / "scheduler.log");
    fs::permissions(folder, fs::perms(0755));
    {
        SchedulerServer served(world.project, GetParam());
        EXPECT_THAT(served.post(work_request(0, 1, 1)).body, HasSubstr("<hostid>")) << served.logs();
    }
    fs::remove(folder / "scheduler.log");
    std::ofstream(folder / "scheduler.log") << "";
    fs::permissions(folder / "scheduler.log", fs::perms(0));
    SchedulerServer served(world.project, GetParam());
    const HttpReply reply = served.post(work_request(0, 1, 1));
    EXPECT_EQ(malformed(reply), "");
    EXPECT_THAT(reply.body, HasSubstr("<hostid>"));
    // Then the lines are in the web server's error log.
    EXPECT_THAT(served.apache().error_log(), AllOf(HasSubstr("scheduler.log"), HasSubstr("logging to stderr")));
}
INSTANTIATE_TEST_SUITE_P(All, Logs, testing::Values(Served::kCgi, Served::kFcgid),
                         [](const auto& how) { return name_of(how.param); });

/// Daemons and tools, started where something is broken from the beginning.
class Programs : public testing::TestWithParam<std::vector<std::string>> {
  protected:
    /// stderr of the program, which must end with exit status 1 and one line about what to do.
    void expect_refusal(World& world, const std::string& says) {
        std::vector<std::string> words = GetParam();
        words.front() = sluice::test::binary_dir() + "/bin/" + words.front();
        const RunResult result = run(words, world.project.run_options(), 100);
        EXPECT_EQ(result.status, 1) << result.out << result.err;
        EXPECT_EQ(result.signal, 0);
        EXPECT_THAT(result.err, testing::ContainsRegex(says));
        // The same in a log with its time stamp; nothing of stack traces or of C++.
        EXPECT_LE(std::count(result.err.begin(), result.err.end(), '\n'), 3) << result.err;
    }
};

class ProgramsOfTheDatabase : public Programs {};

TEST_P(Programs, WithoutConfigXml) {
    World world;
    fs::rename(world.config(), world.project.folder() / "away");
    expect_refusal(world, "config\\.xml");
    fs::rename(world.project.folder() / "away", world.config());
}

TEST_P(Programs, WithABrokenConfigXml) {
    World world;
    world.edit_config("</config>", "<config_without_end>");
    expect_refusal(world, "config\\.xml");
    world.edit_config("<config_without_end>", "</config>");
}

TEST_P(ProgramsOfTheDatabase, WithAWrongPassword) {
    World world;
    world.project.stop_daemons();
    world.edit_config("<db_passwd>", "<db_passwd>wrong");
    expect_refusal(world, "refuses user 'root': check <db_user> and <db_passwd>");
}

const std::vector<std::vector<std::string>> kOfTheDatabase = {
    {"transitioner", "--one_pass"}, {"size_census"}, {"batch_stats"}, {"batch_accel"}};
const auto kProgramName = [](const testing::TestParamInfo<std::vector<std::string>>& words) {
    return words.param.front();
};
INSTANTIATE_TEST_SUITE_P(Database, Programs, testing::ValuesIn(kOfTheDatabase), kProgramName);
INSTANTIATE_TEST_SUITE_P(Array, Programs, testing::Values(std::vector<std::string>{"show_shmem"}), kProgramName);
INSTANTIATE_TEST_SUITE_P(All, ProgramsOfTheDatabase, testing::ValuesIn(kOfTheDatabase), kProgramName);

/// Daemons that live on wait for the database, and say so once.
TEST(Daemons, AWrongPasswordIsSaidAndWaitedOut) {
    World world;
    world.project.stop_daemons();
    world.edit_config("<db_passwd>", "<db_passwd>wrong");
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"feeder"},
          {"transitioner", "--sleep_interval", "1"},
          {"size_regulator", "--app_name", "up", "--lo", "1", "--hi", "2", "--sleep_time", "1"}}) {
        Subprocess& daemon = world.project.start(words.front(), {words.begin() + 1, words.end()});
        EXPECT_TRUE(daemon.wait_for_output("check <db_user> and <db_passwd>")) << words.front() << daemon.err();
        EXPECT_TRUE(daemon.running()) << words.front();
        daemon.send_signal(SIGTERM);
        const auto ended = daemon.wait();
        ASSERT_TRUE(ended) << words.front();
        EXPECT_EQ(ended->status, 0) << words.front() << ended->err;
    }
}

}  // namespace
}  // namespace sluice::test
