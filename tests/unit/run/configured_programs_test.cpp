// SPDX-License-Identifier: LGPL-3.0-or-later
// Names of pid, lock and log files, hosts, and programs that would get into each other's way.
#include "config/run/configured_programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

ConfiguredPrograms programs_of(const std::string& daemons_and_tasks, const std::string& host = "main") {
    ProjectConfig config;
    config.project_dir = "/p";
    config.bin_dir = "/p/bin";
    config.host = "main";
    const DaemonsAndTasks entries = parse_daemons_and_tasks("<boinc>" + daemons_and_tasks + "</boinc>", "config.xml");
    return configured_programs(entries, config, host_folders(config, host));
}
std::string daemon(const std::string& cmd, const std::string& more = "") {
    return "<daemon><cmd>" + cmd + "</cmd>" + more + "</daemon>";
}
std::string task(const std::string& cmd, const std::string& more = "") {
    return "<task><cmd>" + cmd + "</cmd><period>5</period>" + more + "</task>";
}

TEST(ProgramFiles, AreNamedAfterTheProgramAndTheOutput) {
    const ConfiguredPrograms programs =
        programs_of("<daemons>" + daemon("feeder -d 3") + daemon("transitioner", "<output>t.log</output>") +
                    daemon("quiet", "<output>/dev/null</output>") +
                    daemon("own", "<output>/var/log/o</output><pid_file>o.pid</pid_file><lock_file>o.lk</lock_file>") +
                    "</daemons><tasks>" + task("run_in_ops ./uotd.php") + "</tasks>");
    ASSERT_EQ(programs.daemons.size(), 4U);
    EXPECT_EQ(programs.daemons[0].output, "/p/log_main/feeder.log");
    EXPECT_EQ(programs.daemons[0].pid_file, "/p/pid_main/feeder.pid");
    EXPECT_EQ(programs.daemons[0].lock_file, "/p/pid_main/feeder.lock");
    EXPECT_EQ(programs.daemons[1].output, "/p/log_main/t.log");
    EXPECT_EQ(programs.daemons[1].pid_file, "/p/pid_main/transitioner.pid");
    EXPECT_EQ(programs.daemons[1].lock_file, "/p/pid_main/t.log.lock");
    EXPECT_EQ(programs.daemons[2].output, "/dev/null");
    EXPECT_EQ(programs.daemons[2].lock_file, "/p/pid_main/quiet.lock");
    EXPECT_EQ(programs.daemons[3].output, "/var/log/o");
    EXPECT_EQ(programs.daemons[3].pid_file, "/p/pid_main/o.pid");
    EXPECT_EQ(programs.daemons[3].lock_file, "/p/pid_main/o.lk");
    ASSERT_EQ(programs.tasks.size(), 1U);
    EXPECT_EQ(programs.tasks[0].output, "/p/log_main/uotd.php.out");
    EXPECT_EQ(programs.tasks[0].lock_file, "/p/pid_main/uotd.php.lock");
    EXPECT_EQ(programs.tasks[0].pid_file, "");
}

TEST(ProgramFiles, FoldersMayBeMoved) {
    ProjectConfig config;
    config.project_dir = "/p";
    config.host_dirs = {{"log_node7_dir", "/var/log/p"}, {"tmp_node7_dir", "scratch"}, {"pid_other_dir", "/x"}};
    for (const char* bin : {"/p/bin", "/opt/bin"}) {
        config.bin_dir = bin;
        EXPECT_EQ(host_folders(config, "node7").bin, bin);
    }
    const HostFolders folders = host_folders(config, "node7");
    EXPECT_EQ(folders.log, "/var/log/p");
    EXPECT_EQ(folders.tmp, "/p/scratch");
    EXPECT_EQ(folders.pid, "/p/pid_node7");
}

TEST(Collisions, SecondDaemonOfProgramIsRefusedWithReason) {
    const ConfiguredPrograms programs =
        programs_of("<daemons>" + daemon("transitioner --mod 2 0") + daemon("transitioner --mod 2 1") + "</daemons>");
    EXPECT_EQ(programs.daemons[0].problem, "");
    EXPECT_THAT(programs.daemons[1].problem,
                AllOf(HasSubstr("transitioner.lock"), HasSubstr("'transitioner --mod 2 0'"), HasSubstr("<output>")));
}

TEST(Collisions, OutputsMakeInstancesApart) {
    // Upstream writes both pids to transitioner.pid.
    const ConfiguredPrograms programs =
        programs_of("<daemons>" + daemon("transitioner --mod 2 0", "<output>t0.log</output>") +
                    daemon("transitioner --mod 2 1", "<output>t1.log</output>") + "</daemons>");
    EXPECT_EQ(programs.daemons[0].problem, "");
    EXPECT_EQ(programs.daemons[1].problem, "");
    EXPECT_EQ(programs.daemons[0].pid_file, "/p/pid_main/transitioner.pid");
    EXPECT_EQ(programs.daemons[1].pid_file, "/p/pid_main/t1.log.pid");
}

TEST(Collisions, DisabledOnesAreInNobodysWay) {
    const ConfiguredPrograms programs = programs_of("<daemons>" + daemon("validator --app a", "<disabled/>") +
                                                    daemon("validator --app b") + "</daemons>");
    EXPECT_EQ(programs.daemons[1].problem, "");
}

TEST(Collisions, TasksTakeTurnsButNotWithADaemon) {
    const ConfiguredPrograms programs =
        programs_of("<daemons>" + daemon("census") + "</daemons><tasks>" + task("update_stats --users") +
                    task("update_stats --hosts") + task("census --once") + "</tasks>");
    EXPECT_EQ(programs.tasks[0].problem, "");
    EXPECT_EQ(programs.tasks[1].problem, "");
    EXPECT_THAT(programs.tasks[2].problem, HasSubstr("census.lock"));
}

TEST(Commands, RedirectionsNeedUseShellAndQuotesMustClose) {
    const ConfiguredPrograms programs = programs_of(
        "<daemons>" + daemon("a | b") + daemon("c 2&gt;&amp;1", "<use_shell/>") + daemon("d 'e") + "</daemons>");
    EXPECT_THAT(programs.daemons[0].problem, HasSubstr("<use_shell>"));
    EXPECT_EQ(programs.daemons[1].problem, "");
    EXPECT_THAT(programs.daemons[2].problem, HasSubstr("quote"));
}

TEST(Hosts, OnlyProgramsOfThisHostAreListed) {
    const std::string all = "<daemons>" + daemon("a") + daemon("b", "<host>node7.example.org</host>") +
                            daemon("c", "<host>node8</host>") + "</daemons><tasks>" + task("t", "<host>node7</host>") +
                            task("u", "<host>node8</host>") + "</tasks>";
    const ConfiguredPrograms on_main = programs_of(all);
    ASSERT_EQ(on_main.daemons.size(), 1U);
    EXPECT_EQ(on_main.daemons[0].cmd, "a");
    EXPECT_THAT(on_main.other_hosts, ElementsAre("node7.example.org", "node8", "node7"));
    const ConfiguredPrograms on_node7 = programs_of(all, "node7");
    ASSERT_EQ(on_node7.daemons.size(), 1U);
    EXPECT_EQ(on_node7.daemons[0].cmd, "b");
    EXPECT_EQ(on_node7.tasks.size(), 1U);
}

TEST(Hosts, ThisMachinesNamesNeedNoSsh) {
    for (const char* own : {"localhost", "LocalHost", "127.0.0.1", "::1", "localhost.localdomain", "MAIN", "main",
                            "main.example.org", "Main.Example.Org"}) {
        const ConfiguredPrograms programs =
            programs_of("<daemons>" + daemon("a", std::string("<host>") + own + "</host>") + "</daemons>");
        EXPECT_EQ(programs.daemons.size(), 1U) << own;
        EXPECT_THAT(programs.other_hosts, testing::IsEmpty()) << own;
    }
    const std::string of_main = "<daemons>" + daemon("a", "<host>localhost</host>") + "</daemons>";
    EXPECT_TRUE(programs_of(of_main, "node7").daemons.empty()) << "the main machine's, not each one's";
}

TEST(Hosts, AreTheSameByName) {
    EXPECT_TRUE(same_host("node7", "NODE7.example.org"));
    EXPECT_TRUE(same_host("node7.example.org", "node7"));
    EXPECT_FALSE(same_host("node7.example.org", "node7.example.com"));
    EXPECT_FALSE(same_host("node7", "node70"));
    EXPECT_FALSE(same_host("192.168.1.5", "192.168.1.6"));
    EXPECT_TRUE(same_host("192.168.1.5", "192.168.1.5"));
    EXPECT_FALSE(same_host("10", "10.0.0.1"));
}

}  // namespace
}  // namespace sluice
