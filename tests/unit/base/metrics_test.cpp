// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/base/metrics.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "sluice/base/project.h"
#include "src/base/metrics_file.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;

/// A project with a log folder. Counts of this process go there from a child on, so that tests do not meet.
class Metrics : public ::testing::Test {
  protected:
    Metrics() { fs::create_directories(log_dir(project.path())); }
    fs::path file(const std::string& program) const {
        return log_dir(project.path()) / "metrics" / (program + ".counters");
    }
    /// `work` in a process of its own that counts for `program`; its exit status.
    int in_child(const std::string& program, const std::function<void()>& work) const {
        const pid_t pid = ::fork();
        if (pid == 0) {
            metrics_open(project.path(), program);
            work();
            ::_exit(0);
        }
        int status = -1;
        ::waitpid(pid, &status, 0);
        return status;
    }
    std::uint64_t value(const std::string& program, Metric metric, MetricLabels labels = {}) const {
        std::uint64_t sum = 0;
        for (const ProgramMetrics& p : read_metrics(project.path()).programs)
            for (const MetricCell& c : p.cells)
                if (p.program == program && c.metric == metric && c.labels == labels) sum += c.value;
        return sum;
    }
    TempDir project;
};

TEST_F(Metrics, ProcessesOfAProgramAddUp) {
    const auto work = [] {
        count_metric(Metric::kJobsSent, {7, 2, 1}, 3);
        count_metric(Metric::kSqlStatements);
        observe_metric(Metric::kRequestSeconds, {}, 0.004);
        set_metric(Metric::kLastTurn, {5}, 1000);
    };
    EXPECT_EQ(in_child("scheduler", work), 0);
    EXPECT_EQ(in_child("scheduler", work), 0);
    EXPECT_EQ(in_child("feeder", work), 0);
    EXPECT_EQ(value("scheduler", Metric::kJobsSent, {7, 2, 1}), 6u);
    EXPECT_EQ(value("scheduler", Metric::kSqlStatements), 2u);
    EXPECT_EQ(value("scheduler", Metric::kRequestSeconds, {0, 0, 0}), 8000u);
    EXPECT_EQ(value("scheduler", Metric::kRequestSeconds, {0, 0, 3}), 2u);  // up to 5 ms
    EXPECT_EQ(value("scheduler", Metric::kLastTurn, {5}), 1000u);
    EXPECT_EQ(value("feeder", Metric::kSqlStatements), 1u);
    EXPECT_EQ(fs::file_size(file("feeder")), metric_file::kBytes);
}

TEST_F(Metrics, OnlyTheWebFileIsForItsGroup) {
    ASSERT_EQ(in_child("scheduler", [] {}), 0);
    struct stat own {
    }, web{};
    ASSERT_EQ(::stat(file("scheduler").c_str(), &own), 0);
    ASSERT_EQ(::stat(file("web").c_str(), &web), 0);
    EXPECT_EQ(own.st_mode & 0777, 0640u);
    EXPECT_EQ(web.st_mode & 0777, 0660u);
}

TEST_F(Metrics, AFoldersModeIsFreeOfTheUmask) {
    const pid_t pid = ::fork();
    if (pid == 0) {
        ::umask(077);
        metrics_open(project.path(), "scheduler");
        ::_exit(0);
    }
    int status = -1;
    ::waitpid(pid, &status, 0);
    ASSERT_EQ(status, 0);
    struct stat folder {
    }, web{};
    ASSERT_EQ(::stat(file("web").parent_path().c_str(), &folder), 0);
    ASSERT_EQ(::stat(file("web").c_str(), &web), 0);
    EXPECT_EQ(folder.st_mode & 0777, 0750u);
    EXPECT_EQ(web.st_mode & 0777, 0660u);
}

// Handlers of exit() run after the destructors of statics that were made later.
TEST_F(Metrics, AFileCutAtAnExitKillsNobody) {
    static fs::path cut;
    cut = file("scheduler");
    const pid_t pid = ::fork();
    if (pid == 0) {
        std::atexit([] {
            if (::truncate(cut.c_str(), 0) != 0) ::_exit(3);
            count_metric(Metric::kSqlStatements);
            ::_exit(0);
        });
        metrics_open(project.path(), "scheduler");
        std::exit(1);
    }
    int status = -1;
    ::waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
}

TEST_F(Metrics, ParallelAdditionsAreNotLost) {
    ASSERT_EQ(in_child("scheduler", [] {}), 0);
    std::vector<pid_t> children;
    for (int c = 0; c < 4; ++c) {
        const pid_t pid = ::fork();
        if (pid == 0) {
            metrics_open(project.path(), "scheduler");
            for (std::uint32_t i = 0; i < 20000; ++i) count_metric(Metric::kRefusals, {i % 100});
            ::_exit(0);
        }
        children.push_back(pid);
    }
    for (const pid_t pid : children) ::waitpid(pid, nullptr, 0);
    for (std::uint32_t i = 0; i < 100; ++i) EXPECT_EQ(value("scheduler", Metric::kRefusals, {i}), 800u) << i;
}

// Without a folder for logs, or for an account that can't write there, a program goes on and counts for itself.
TEST_F(Metrics, ProgramsWithoutAFileGoOn) {
    TempDir bare;
    const pid_t pid = ::fork();
    if (pid == 0) {
        metrics_open(bare.path(), "scheduler");
        metrics_open("/nonexistent", "scheduler");
        count_metric(Metric::kSqlStatements);
        ::_exit(0);
    }
    int status = -1;
    ::waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(read_metrics(bare.path()).programs.empty());
}

// The web server's account may cut its file at any moment.
TEST_F(Metrics, AFileCutWhileMappedKillsNobody) {
    const int status = in_child("scheduler", [&] {
        count_metric(Metric::kSqlStatements);
        if (::truncate(file("scheduler").c_str(), 0) != 0) ::_exit(3);
        for (std::uint32_t i = 0; i < 5000; ++i) count_metric(Metric::kRefusals, {i});
        count_metric(Metric::kSqlStatements);
    });
    EXPECT_EQ(status, 0);
    const MetricFiles cut = read_metrics(project.path());
    ASSERT_EQ(cut.problems.size(), 1u);
    EXPECT_THAT(cut.problems[0], testing::HasSubstr("scheduler.counters: is no file of counts"));
    // The next start of a program makes it anew.
    EXPECT_EQ(in_child("scheduler", [] { count_metric(Metric::kSqlStatements); }), 0);
    EXPECT_EQ(value("scheduler", Metric::kSqlStatements), 1u);
    EXPECT_TRUE(read_metrics(project.path()).problems.empty());
}

// Who may write into log_HOST must not lead the project's account elsewhere.
TEST_F(Metrics, AFolderOfSomebodyElseIsLeftAlone) {
    const fs::path folder = file("x").parent_path();
    fs::create_directory(project.path() / "elsewhere");
    fs::remove_all(folder);
    fs::create_directory_symlink(project.path() / "elsewhere", folder);
    EXPECT_EQ(in_child("feeder", [] { count_metric(Metric::kSqlStatements); }), 0);
    EXPECT_TRUE(fs::is_empty(project.path() / "elsewhere"));
    EXPECT_THAT(read_metrics(project.path()).problems, testing::ElementsAre(testing::HasSubstr("remove it")));
}

TEST_F(Metrics, WhateverLiesThereIsReadOrNamed) {
    ASSERT_EQ(in_child("feeder", [] { count_metric(Metric::kSqlStatements); }), 0);
    const fs::path folder = file("x").parent_path();
    fs::create_directory(file("folder"));
    fs::create_symlink("/etc/passwd", file("link"));
    ASSERT_EQ(::mkfifo(file("pipe").c_str(), 0600), 0);
    std::ofstream(file("long")) << std::string(metric_file::kBytes + 1, 'x');
    std::ofstream(file("wrong")) << std::string(metric_file::kBytes, 'x');
    std::ofstream(file("a b;c")) << "x";
    std::ofstream(folder / "notes.txt") << "x";
    const MetricFiles found = read_metrics(project.path());
    EXPECT_EQ(found.problems.size(), 5u);
    ASSERT_EQ(found.programs.size(), 2u);
    EXPECT_EQ(found.programs[0].program, "feeder");
    EXPECT_EQ(found.programs[1].program, "web");
    for (int i = 0; i < 300; ++i) std::ofstream(file("f" + std::to_string(i))) << "x";
    EXPECT_LE(read_metrics(project.path()).problems.size(), 100u);
}

TEST_F(Metrics, AFullTableCountsWhatItDrops) {
    ASSERT_EQ(in_child("feeder",
                       [] {
                           for (std::uint32_t i = 0; i < 10000; ++i) count_metric(Metric::kRefusals, {i});
                           count_metric(Metric::kRefusals, {0});
                       }),
              0);
    for (const ProgramMetrics& p : read_metrics(project.path()).programs) {
        if (p.program != "feeder") continue;
        EXPECT_LE(p.cells.size(), metric_file::kEntries);
        EXPECT_GE(p.cells.size(), metric_file::kEntries * 9 / 10);
        EXPECT_EQ(p.cells.size() + p.dropped, 10000u);
    }
    EXPECT_EQ(value("feeder", Metric::kRefusals, {0}), 2u);
}

TEST(MetricKeys, KeepEveryLabelApart) {
    const MetricLabels labels{0xfffffffe, 0xfffd, 0xfc};
    const MetricCell cell = metric_file::cell_of(metric_file::key_of(Metric::kTurns, labels), 5);
    EXPECT_EQ(cell.metric, Metric::kTurns);
    EXPECT_EQ(cell.labels, labels);
    EXPECT_EQ(cell.value, 5u);
}

}  // namespace
}  // namespace sluice::test
