// SPDX-License-Identifier: LGPL-3.0-or-later
// rotate_logs, the program: nothing that was written is lost, whoever writes and whenever it is killed.
#include <fcntl.h>
#include <fmt/chrono.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <chrono>
#include <fstream>
#include <map>
#include <random>

#include "daemons/cleaning/log_rotation.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/base/project.h"
#include "tests/support/fake_clock.h"
#include "tests/support/paths.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Rotation : public testing::Test {
  protected:
    Rotation() : logs_(dir_ / ("log_" + short_host_name())) {
        fs::create_directories(logs_ / "decisions");
        configure("");
    }
    void configure(const std::string& daemons) {
        dir_.write("config.xml",
                   "<boinc><config><long_name>x</long_name></config><daemons>" + daemons + "</daemons></boinc>");
    }
    RunOptions in_project() const {
        RunOptions options;
        options.env["BOINC_PROJECT_DIR"] = dir_.path().string();
        return options;
    }
    std::vector<std::string> words(std::vector<std::string> more) const {
        std::vector<std::string> all{binary_dir() + "/bin/rotate_logs", "--max_mb", "0.001"};  // 1048 bytes
        all.insert(all.end(), more.begin(), more.end());
        return all;
    }
    RunResult rotate(const std::vector<std::string>& more = {}) { return run(words(more), in_project()); }
    void write(const std::string& log, const std::string& text) const {
        std::ofstream(logs_ / log, std::ios::app) << text;
    }
    static std::string long_text(char of) { return std::string(2000, of) + "\n"; }
    static std::string unpacked(const fs::path& file) {
        gzFile in = ::gzopen(file.c_str(), "rb");  // plain files, too
        std::string text(64 << 20, '\0');
        const int got = in == nullptr ? -1 : ::gzread(in, text.data(), static_cast<unsigned>(text.size()));
        if (in != nullptr) ::gzclose(in);
        if (got < 0) return "unreadable";
        text.resize(static_cast<std::size_t>(got));
        return text;
    }
    std::vector<std::string> names() const {
        std::vector<std::string> all;
        for (const auto& entry : fs::directory_iterator(logs_)) {
            const std::string name = entry.path().filename().string();
            if (name != "decisions" && name != "metrics" && name != ".rotate_logs.lock") all.push_back(name);
        }
        std::ranges::sort(all);
        return all;
    }
    std::string old_of(const std::string& log) const {
        for (const std::string& name : names())
            if (const auto old = old_log(name); old && old->log == log) return name;
        return "none";
    }
    std::string all_text(const std::string& log) const {
        std::string text;
        for (const std::string& name : names())
            if (const auto old = old_log(name); old && old->log == log) text += unpacked(logs_ / name);
        return text + read_file(logs_ / log).value_or("");
    }
    TurnResult at(double now, LogBounds bounds = {}) const {
        FakeClock clock(now);
        return LogRotation({.bounds = bounds, .logs = {logs_}, .decisions = logs_ / "decisions"}, clock).turn().result;
    }

    TempDir dir_;
    fs::path logs_;
};

TEST_F(Rotation, LongLogsAreRotatedAndCompressed) {
    configure("<daemon><cmd>x</cmd><output>special.txt</output></daemon>");
    for (const char* log : {"feeder.log", "task.out", "special.txt", "other.txt"}) write(log, long_text('a'));
    write("short.log", "b\n");
    fs::permissions(logs_ / "feeder.log", fs::perms(0640));
    const RunResult r = rotate();
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_THAT(r.err, HasSubstr("3 logs rotated, 3 compressed, 0 removed"));
    for (const char* log : {"feeder.log", "task.out", "special.txt"}) {
        EXPECT_EQ(read_file(logs_ / log), "") << log;
        EXPECT_TRUE(old_of(log).ends_with("Z.gz")) << log;
        EXPECT_EQ(all_text(log), long_text('a')) << log;
    }
    EXPECT_EQ(fs::status(logs_ / "feeder.log").permissions(), fs::perms(0640));
    EXPECT_EQ(fs::status(logs_ / old_of("feeder.log")).permissions(), fs::perms(0640));
    EXPECT_EQ(read_file(logs_ / "other.txt"), long_text('a')) << "no log";
    EXPECT_EQ(read_file(logs_ / "short.log"), "b\n");
    EXPECT_EQ(names().size(), 8u);
}

TEST_F(Rotation, ADryRunChangesNothing) {
    write("feeder.log", long_text('a'));
    const RunResult r = rotate({"--dry_run"});
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_THAT(r.err, HasSubstr("dry run, nothing was written: feeder.log: 2001 bytes, rotated"));
    EXPECT_THAT(names(), ElementsAre("feeder.log"));
}

TEST_F(Rotation, OldLogsGoByNumberSizeAndAge) {
    const double now = static_cast<double>(::time(nullptr));
    for (const int days : {1, 10, 59, 61})
        write(old_log_name("a.log", static_cast<std::int64_t>(now) - days * 86400), "x");
    write(old_log_name("gone.log", static_cast<std::int64_t>(now) - 61 * 86400) + ".gz", "x");
    write("a.log.1", "of another program");
    const std::string today = fmt::format("decisions_{:%Y-%m-%d}.jsonl", fmt::gmtime(::time(nullptr)));
    for (const std::string& day : {std::string("decisions_2001-01-01.jsonl"), today}) write("decisions/" + day, "{}\n");
    EXPECT_EQ(at(now, {.keep = 2}), TurnResult::kFinished);
    EXPECT_EQ(names().size(), 3u) << "two old ones, and the other program's";
    EXPECT_TRUE(fs::exists(logs_ / "a.log.1"));
    EXPECT_FALSE(fs::exists(logs_ / "decisions/decisions_2001-01-01.jsonl"));
    EXPECT_TRUE(fs::exists(logs_ / "decisions" / today)) << "the scheduler writes to it";
    EXPECT_EQ(at(now + 0.9 * 86400), TurnResult::kFinished);
    EXPECT_TRUE(fs::exists(logs_ / "decisions" / today)) << "it may not be over where the scheduler is";
    EXPECT_EQ(at(now + 3 * 86400.0), TurnResult::kFinished);
    EXPECT_EQ(unpacked(logs_ / "decisions" / (today + ".gz")), "{}\n");
}

TEST_F(Rotation, AShortLogIsRotatedOnceAWeek) {
    write("a.log", "x\n");
    write("empty.log", "");
    const double now = static_cast<double>(::time(nullptr));
    at(now + 6 * 86400.0);
    EXPECT_EQ(old_of("a.log"), "none");
    at(now + 8 * 86400.0);
    EXPECT_EQ(all_text("a.log"), "x\n");
    EXPECT_EQ(read_file(logs_ / "a.log"), "");
    EXPECT_EQ(old_of("empty.log"), "none");
}

// What a kill leaves at each step, and the next run makes of it.
TEST_F(Rotation, EveryHalfDoneRotationIsFinished) {
    write("a.log", "new\n"), write(".a.log.new", "old\n");  // they have changed places
    write("b.log", "all\n"), write(".b.log.new", "");       // not yet
    write(".c.log.new", "");                                // without exchange: the log has been moved away
    const std::string packed = old_log_name("d.log", ::time(nullptr) - 100);
    write(packed, "text\n"), write("." + packed + ".gz.new", "half");
    const std::string twice = old_log_name("e.log", ::time(nullptr) - 100);
    write(twice, "text\n"), write(twice + ".gz", "text\n");
    const RunResult r = rotate();
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(all_text("a.log"), "old\nnew\n");
    EXPECT_EQ(all_text("b.log"), "all\n");
    EXPECT_EQ(read_file(logs_ / "c.log"), "");
    EXPECT_EQ(all_text("d.log") + all_text("e.log"), "text\ntext\n");
    for (const std::string& name : names()) EXPECT_FALSE(name.ends_with(".new")) << name;
}

// The day's file was compressed, and the scheduler's clock was put back.
TEST_F(Rotation, ADayThatIsBegunAnewLosesNothing) {
    const fs::path day = logs_ / "decisions/decisions_2026-01-01.jsonl";
    for (const char* text : {"first\n", "second\n"}) {
        std::ofstream(day) << text;
        EXPECT_EQ(rotate({"--keep_days", "99999"}).status, 0);
        EXPECT_FALSE(fs::exists(day));
    }
    EXPECT_EQ(unpacked(day.string() + ".gz"), "first\nsecond\n");
}

// As on NFS: no exchange of files, and no rename that refuses to replace one.
TEST_F(Rotation, WithoutExchangeNothingIsLost) {
    write("a.log", long_text('a'));
    write(".b.log.new", "half\n"), write("b.log", "more\n");
    write(".c.log.new", "");
    RunOptions options = in_project();
    options.env["LD_PRELOAD"] = binary_dir() + "/tests/no_exchange.so";
    const char* of_sanitizer = ::getenv("ASAN_OPTIONS");
    options.env["ASAN_OPTIONS"] =
        std::string(of_sanitizer == nullptr ? "" : of_sanitizer) + ":verify_asan_link_order=0";
    const RunResult r = run(words({}), options);
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(all_text("a.log"), long_text('a'));
    EXPECT_EQ(read_file(logs_ / "a.log"), "");
    EXPECT_THAT(r.err, testing::Not(HasSubstr("preload")));
    EXPECT_EQ(all_text("b.log"), "half\nmore\n");
    EXPECT_EQ(read_file(logs_ / "c.log"), "");
    for (const std::string& name : names()) EXPECT_FALSE(name.ends_with(".new")) << name;
}

// The scheduler's log stays where it was when <log_HOST_dir> moves those of bin/start.
TEST_F(Rotation, MovedLogsAndThoseOfTheWebServer) {
    fs::create_directory(dir_ / "moved");
    dir_.write("config.xml",
               fmt::format("<boinc><config><log_{0}_dir>moved</log_{0}_dir></config></boinc>", short_host_name()));
    dir_.write("moved/feeder.log", long_text('f'));
    write("scheduler.log", long_text('s'));
    EXPECT_EQ(rotate().status, 0);
    EXPECT_EQ(read_file(dir_ / "moved/feeder.log"), "");
    EXPECT_EQ(read_file(logs_ / "scheduler.log"), "");
    EXPECT_EQ(all_text("scheduler.log"), long_text('s'));
}

TEST_F(Rotation, OutputsElsewhereAreRotatedAlone) {
    configure("<daemon><cmd>x</cmd><output>" + (dir_ / "elsewhere/x.txt").string() +
              "</output></daemon><daemon><cmd>y</cmd><output>../elsewhere/y.log</output></daemon>"
              "<daemon><cmd>z</cmd><output>/dev/null</output></daemon>");
    for (const char* log : {"elsewhere/x.txt", "elsewhere/y.log", "elsewhere/z.log"}) dir_.write(log, long_text('a'));
    dir_.write("elsewhere/z.log.20200101T000000Z", "another program's");
    const RunResult r = rotate();
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_THAT(r.err, HasSubstr("2 logs rotated, 2 compressed, 0 removed"));
    for (const char* log : {"elsewhere/x.txt", "elsewhere/y.log"}) EXPECT_EQ(read_file(dir_ / log), "") << log;
    EXPECT_EQ(read_file(dir_ / "elsewhere/z.log"), long_text('a'));
    EXPECT_TRUE(fs::exists(dir_ / "elsewhere/z.log.20200101T000000Z"));
}

TEST_F(Rotation, FoldersOfOthersAreNoFailure) {
    configure("<daemon><cmd>x</cmd><output>" + (dir_ / "elsewhere/x.txt").string() + "</output></daemon>");
    dir_.write("elsewhere/x.txt", long_text('a'));
    fs::permissions(dir_ / "elsewhere", fs::perms(0555));
    write("feeder.log", long_text('f'));
    const RunResult r = rotate();
    fs::permissions(dir_ / "elsewhere", fs::perms(0755));
    EXPECT_EQ(r.status, 0) << r.err;
    if (::geteuid() == 0) {  // it writes everywhere
        EXPECT_EQ(read_file(dir_ / "elsewhere/x.txt"), "");
    } else {
        EXPECT_THAT(r.err, HasSubstr("elsewhere: this account can't write in it"));
        EXPECT_EQ(read_file(dir_ / "elsewhere/x.txt"), long_text('a'));
    }
    EXPECT_EQ(read_file(logs_ / "feeder.log"), "");
}

TEST_F(Rotation, RequestsAreKeptWithinAgeAndSize) {
    const fs::path kept = dir_ / "requests";
    dir_.write("config.xml",
               "<boinc><config><debug_req_reply_dir>" + kept.string() + "</debug_req_reply_dir></config></boinc>");
    const auto made = [&](const std::string& name, double days) {
        dir_.write("requests/" + name, std::string(5000, 'r'));
        fs::last_write_time(kept / name,
                            fs::file_time_type::clock::now() - std::chrono::seconds(static_cast<int>(days * 86400)));
    };
    const std::vector<std::string> old = {"17_1_sched_request.xml", "17_1_sched_reply.xml", "17_1_sched.log"};
    for (const std::string& name : old) made(name, 70);
    for (const char* name : {"17_2_sched_request.xml", "notes_sched.log", "17_1_sched.txt"}) made(name, 1);
    made("notes.xml", 70);
    RunResult r = rotate({"--max_mb", "1", "--dry_run"});
    EXPECT_TRUE(fs::exists(kept / old[0]));
    r = rotate({"--max_mb", "1"});
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_THAT(r.err, HasSubstr("0 logs rotated, 0 compressed, 3 removed"));
    for (const std::string& name : old) EXPECT_FALSE(fs::exists(kept / name)) << name;
    for (const char* name : {"17_2_sched_request.xml", "notes_sched.log", "17_1_sched.txt", "notes.xml"})
        EXPECT_TRUE(fs::exists(kept / name)) << name;
    made("17_3_sched_request.xml", 2);
    EXPECT_EQ(rotate({"--max_mb", "0.01", "--keep", "1"}).status, 0);
    EXPECT_TRUE(fs::exists(kept / "17_2_sched_request.xml")) << "the newest stays within the size";
    EXPECT_FALSE(fs::exists(kept / "17_3_sched_request.xml"));
}

TEST_F(Rotation, WhoDoesNotFollowKeepsItsFile) {
    const int fd = ::open((logs_ / "theirs.log").c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    const auto print = [&](const std::string& text) {
        ASSERT_EQ(::write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    };
    print(long_text('a'));
    EXPECT_EQ(rotate().status, 0);
    print("last\n");
    ASSERT_FALSE(old_of("theirs.log").ends_with(".gz"));
    print(std::string(1 << 20, 'b') + "\nend\n");
    RunResult r = rotate({"--keep", "2"});
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(read_file(logs_ / old_of("theirs.log")),
              long_text('a') + "last\n" + std::string(1 << 20, 'b') + "\nend\n")
        << "it may still follow";
    const std::string old = old_log_name("theirs.log", ::time(nullptr) - 1000);
    fs::rename(logs_ / old_of("theirs.log"), logs_ / old);
    r = rotate({"--keep", "2"});
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_THAT(r.err, HasSubstr("a program still writes to it"));
    struct stat info {};
    ASSERT_EQ(::stat((logs_ / old).c_str(), &info), 0);
    EXPECT_LT(info.st_blocks * 512, 20000) << "the disk has the rest back";
    EXPECT_THAT(read_file(logs_ / old).value_or(""), testing::EndsWith("b\nend\n"));
    // Nor does it lose its file when that should go.
    for (int i = 1; i <= 3; ++i) write(old_log_name("theirs.log", ::time(nullptr) - 10 * i), "x");
    EXPECT_EQ(rotate({"--keep", "2"}).status, 0);
    print("after\n");
    EXPECT_THAT(read_file(logs_ / old).value_or(""), testing::EndsWith("after\n"));
    ::close(fd);
    EXPECT_EQ(rotate({"--keep", "2"}).status, 0);
    EXPECT_FALSE(fs::exists(logs_ / old));
}

TEST_F(Rotation, LinksAreLeftAlone) {
    dir_.write("secret", long_text('s'));
    fs::create_symlink(dir_ / "secret", logs_ / "link.log");
    fs::create_hard_link(dir_ / "secret", logs_ / "second.log");
    fs::create_hard_link(dir_ / "secret", logs_ / "decisions/decisions_2001-01-01.jsonl");
    fs::create_symlink(dir_ / "secret", logs_ / old_log_name("third.log", ::time(nullptr) - 100));
    fs::create_directory(logs_ / "folder.log");
    const RunResult r = rotate();
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_THAT(r.err, HasSubstr("link.log is a link or no regular file: it is left alone"));
    EXPECT_EQ(read_file(dir_ / "secret"), long_text('s'));
    EXPECT_EQ(names().size(), 4u);
}

// A log that grew beyond all bounds within an hour, and is small when it is compressed.
TEST_F(Rotation, ALongLogDrivesOutNoOlderOne) {
    const std::string older = old_log_name("a.log", ::time(nullptr) - 1000);
    write(older, "older\n");
    const int fd = ::open((logs_ / "a.log").c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    const std::string text = std::string(1 << 20, 'a') + "\n";
    ASSERT_EQ(::write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    for (int run_number : {1, 2}) {
        const RunResult r = rotate({"--max_mb", "0.01", "--keep", "4"});
        EXPECT_EQ(r.status, 0) << r.err;
        EXPECT_TRUE(fs::exists(logs_ / (older + ".gz"))) << run_number << r.err;
        if (run_number == 1) ::close(fd);  // as a daemon does a second later
    }
    EXPECT_EQ(all_text("a.log").size(), text.size() + 6);
    EXPECT_EQ(names().size(), 3u);
}

TEST_F(Rotation, AFullDiskLosesNothing) {
    std::mt19937 random(7);
    std::string text;
    for (int i = 0; i < 100000; ++i) text += static_cast<char>('!' + random() % 90);
    write("a.log", text), write("b.log", long_text('b'));
    std::vector<std::string> limited{"sh", "-c", "trap '' XFSZ; ulimit -f 8; exec \"$@\"", "sh"};
    for (const std::string& word : words({})) limited.push_back(word);
    const RunResult r = run(limited, in_project());
    EXPECT_EQ(r.status, 1) << r.err;
    EXPECT_THAT(r.err, HasSubstr("it stays as it is"));
    EXPECT_EQ(all_text("a.log"), text);
    EXPECT_TRUE(old_of("b.log").ends_with(".gz")) << "what has room is compressed";
    for (const std::string& name : names()) EXPECT_FALSE(name.ends_with(".new")) << name;
    EXPECT_EQ(rotate().status, 0);
    EXPECT_TRUE(old_of("a.log").ends_with(".gz")) << "when there is room again";
    EXPECT_EQ(all_text("a.log"), text);
}

TEST_F(Rotation, OneThatFailsKeepsNoOtherFromIt) {
    write("a.log", long_text('a')), write("b.log", long_text('b'));
    fs::create_directory(logs_ / ".a.log.new");  // in its way
    const RunResult r = rotate();
    EXPECT_EQ(r.status, 1);
    EXPECT_THAT(r.err, HasSubstr(".a.log.new: File exists"));
    EXPECT_EQ(all_text("a.log"), long_text('a'));
    EXPECT_EQ(read_file(logs_ / "b.log"), "");
}

TEST_F(Rotation, TwoAtOnceAndWrongOptionsAreRefused) {
    EXPECT_THAT(rotate({"--keep", "0"}).err, HasSubstr("--keep must be 1 to 10000"));
    EXPECT_THAT(rotate({"--max_mb", "nan"}).err, HasSubstr("--max_mb"));
    EXPECT_THAT(rotate({"--days", "0"}).err, HasSubstr("--days must be above 0"));
    fs::create_directories(dir_ / ("pid_" + short_host_name()));
    const auto lock = FileLock::try_lock(dir_ / ("pid_" + short_host_name()) / "rotate_logs.run");
    ASSERT_TRUE(lock);
    write("a.log", long_text('a'));
    EXPECT_EQ(rotate().status, 1);
    EXPECT_EQ(read_file(logs_ / "a.log"), long_text('a'));
}

TEST_F(Rotation, AnotherMachineMayBeAtWork) {
    const auto lock = FileLock::try_lock(logs_ / ".rotate_logs.lock");
    ASSERT_TRUE(lock);
    write("a.log", long_text('a'));
    const RunResult r = rotate();
    EXPECT_EQ(r.status, 0);
    EXPECT_THAT(r.err, HasSubstr("another rotate_logs works there"));
    EXPECT_EQ(read_file(logs_ / "a.log"), long_text('a'));
}

/// Writes numbered lines as a daemon does, until `until` is there.
[[noreturn]] void write_lines(const fs::path& log, const fs::path& until) {
    const int fd = ::open(log.c_str(), O_WRONLY | O_APPEND | O_CREAT, 0640);
    ::dup2(fd, STDERR_FILENO);
    log_open({});
    int i = 0;
    for (; !fs::exists(until); ++i) {
        log_normal("line {} {}", i, std::string(200, '.'));
        log_follow_rotation();
        ::usleep(200);
    }
    log_normal("wrote {} lines", i);
    ::_exit(0);
}

TEST_F(Rotation, KillsBesideADaemonLoseNoLine) {
    const pid_t daemon = ::fork();
    if (daemon == 0) write_lines(logs_ / "a.log", dir_ / "end");
    std::mt19937 random(28);
    for (int i = 0; i < 60; ++i) {
        Subprocess program(words({"--keep", "10000", "--max_mb", "0.01"}), in_project());
        const auto ended = program.wait(std::uniform_real_distribution<>(0.003, 0.02)(random));
        if (!ended) program.send_signal(SIGKILL), program.wait();
    }
    dir_.write("end", "");
    int status = -1;
    ASSERT_EQ(::waitpid(daemon, &status, 0), daemon);
    const RunResult last = rotate({"--keep", "10000", "--max_mb", "0.01"});
    EXPECT_EQ(last.status, 0) << last.err;
    std::istringstream text(all_text("a.log"));
    std::map<int, int> seen;
    int lines = -1;
    for (std::string line; std::getline(text, line);) {
        int n = 0;
        const auto at = line.find(" line "), end = line.find(" wrote ");
        if (at != line.npos && std::sscanf(line.c_str() + at, " line %d", &n) == 1) ++seen[n];
        if (end != line.npos) std::sscanf(line.c_str() + end, " wrote %d", &lines);
    }
    ASSERT_GT(lines, 100);
    EXPECT_EQ(std::ssize(seen), lines);
    for (const auto& [n, times] : seen) ASSERT_EQ(times, 1) << "line " << n;
    for (const std::string& name : names()) EXPECT_FALSE(name.ends_with(".new")) << name;
}

}  // namespace
}  // namespace sluice::test
