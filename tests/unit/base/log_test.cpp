// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/base/log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <regex>
#include <sstream>
#include <thread>

#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/text.h"
#include "tests/support/notify_socket.h"
#include "tests/support/temp_dir.h"

namespace sluice {
namespace {

class Log : public testing::Test {
  protected:
    ~Log() override { log_open({}); }
    std::string text() const { return read_file(file).value_or("no file"); }
    /// The line without its time stamp, which has to have the right shape.
    static std::string behind_time(const std::string& line) {
        static const std::regex shape(R"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{4} UTC( [^]*))");
        std::smatch match;
        return std::regex_match(line, match, shape) ? match[1].str() : "bad line: " + line;
    }
    test::TempDir dir;
    const std::string file = (dir / "log").string();
};

TEST_F(Log, LinesHaveUpstreamsShape) {
    log_open({.file = file, .level = LogLevel::kDebug});
    const std::pair<LogLevel, const char*> cases[] = {{LogLevel::kCritical, " [CRITICAL] x 5\n"},
                                                      {LogLevel::kWarning, " [warning] x 5\n"},
                                                      {LogLevel::kNormal, " x 5\n"},
                                                      {LogLevel::kDebug, " [debug] x 5\n"}};
    for (const auto& [level, expected] : cases) {
        fs::resize_file(file, 0);
        log_at(level, "x {}", 5);
        EXPECT_EQ(behind_time(text()), expected);  // in the file before the next statement
    }
}

TEST_F(Log, ThePidFieldIsPaddedToFive) {
    log_open({.file = file, .with_pid = true});
    log_normal("hello");
    std::string pid = std::to_string(::getpid());
    pid.resize(std::max<std::size_t>(pid.size(), 5), ' ');
    EXPECT_EQ(behind_time(text()), " [PID=" + pid + "] hello\n");
}

TEST_F(Log, OnceAnHourWhateverOtherProcessesSaid) {
    log_open({.file = file});
    log_once_an_hour(LogLevel::kCritical, "said by nobody");
    log_once_an_hour(LogLevel::kCritical, "said by nobody");
    const std::string line = text();
    EXPECT_EQ(line.find("said by nobody"), line.rfind("said by nobody"));
    // What another process said in this hour, and what one said in another hour of this day.
    const std::string day = line.substr(0, 11), hour = line.substr(11, 2), other = hour == "00" ? "01" : "00";
    write_file_atomically(file, day + other + ":00:00 of old\n" + day + hour + ":00:00 of this hour\n");
    log_reopen();
    log_once_an_hour(LogLevel::kCritical, "of this hour");
    log_once_an_hour(LogLevel::kCritical, "of old");
    EXPECT_EQ(text().find("of this hour"), text().rfind("of this hour"));
    EXPECT_NE(text().find("of old"), text().rfind("of old"));
}

TEST_F(Log, TimesAreUtcWhateverTzSays) {
    const char* old = ::getenv("TZ");
    const std::string saved = old == nullptr ? "" : old;
    ::setenv("TZ", "XYZ-9", 1);  // nine hours east
    ::tzset();
    const std::time_t before = std::time(nullptr);
    log_open({.file = file});
    log_normal("now");
    old == nullptr ? ::unsetenv("TZ") : ::setenv("TZ", saved.c_str(), 1);
    ::tzset();
    std::tm told{};
    ASSERT_NE(::strptime(text().c_str(), "%Y-%m-%d %H:%M:%S", &told), nullptr);
    EXPECT_GE(::timegm(&told), before);
    EXPECT_LE(::timegm(&told), std::time(nullptr));
}

// systemd names the stream in JOURNAL_STREAM; journald takes the priority off.
TEST_F(Log, LinesForTheJournalBeginWithTheirPriority) {
    const auto write_all_levels = [&](const std::string& stream, const LogOptions& options) {
        const pid_t child = ::fork();
        if (child == 0) {
            const int fd = ::open(file.c_str(), O_WRONLY | O_TRUNC | O_CREAT, 0640);
            ::dup2(fd, STDERR_FILENO);
            struct stat info {};
            ::fstat(fd, &info);
            ::setenv("JOURNAL_STREAM",
                     (std::to_string(info.st_dev) + ":" + std::to_string(info.st_ino) + stream).c_str(), 1);
            log_open(options);
            log_critical("a\nb"), log_warning("c"), log_normal("d"), log_debug("e");
            ::_exit(0);
        }
        int status = -1;
        ::waitpid(child, &status, 0);
        std::string begins;
        std::istringstream lines(text());
        for (std::string line; std::getline(lines, line);) begins += line.substr(0, 5) + "|";
        return begins;
    };
    EXPECT_EQ(write_all_levels("", {.file = "", .level = LogLevel::kDebug}), "<2>20|<4>20|<6>20|<7>20|");
    EXPECT_EQ(write_all_levels("1", {.file = "", .level = LogLevel::kDebug}).substr(0, 2), "20") << "another stream";
    EXPECT_EQ(write_all_levels("", {.file = file}).substr(0, 2), "20") << "a file of its own";
    dir.write("config.xml", "<log_format>json</log_format>");
    const test::Variable project("BOINC_PROJECT_DIR", dir.path().string());
    EXPECT_EQ(write_all_levels("", {.file = "", .level = LogLevel::kDebug}), "<2>{\"|<4>{\"|<6>{\"|<7>{\"|");
}

// As bin/start has it: the log, and what a daemon prints, go into a file that is stderr and stdout.
TEST_F(Log, StderrThatIsAFileFollowsItsName) {
    const pid_t child = ::fork();
    if (child == 0) {
        const int fd = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT, 0640);
        ::dup2(fd, STDERR_FILENO);
        ::dup2(fd, STDOUT_FILENO);
        log_open({});
        log_normal("first");
        log_follow_rotation();  // nothing has happened
        ::rename(file.c_str(), (file + ".1").c_str());
        log_follow_rotation();
        log_normal("second");
        ::_exit(::write(STDOUT_FILENO, "of stdout\n", 10) == 10 ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(behind_time(read_file(file + ".1").value_or("")), " first\n");
    EXPECT_EQ(behind_time(text()), " second\nof stdout\n");
    EXPECT_EQ(fs::status(file).permissions(), fs::perms(0640)) << "as the file that was moved";
}

// The resident scheduler under bin/start: its log, and what it prints, are files of one folder, or one file.
TEST_F(Log, StderrBesideTheLogFollowsItsName) {
    for (const std::string& other : {file, file + "_of_start"}) {
        for (const auto& entry : fs::directory_iterator(dir.path())) fs::remove(entry);
        const pid_t child = ::fork();
        if (child == 0) {
            ::dup2(::open(other.c_str(), O_WRONLY | O_APPEND | O_CREAT, 0640), STDERR_FILENO);
            log_open({.file = file});
            for (const std::string& each : {file, other}) ::rename(each.c_str(), (each + ".1").c_str());
            log_follow_rotation();
            log_normal("said");
            ::_exit(::write(STDERR_FILENO, "printed\n", 8) == 8 ? 0 : 1);
        }
        int status = -1;
        ::waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
        EXPECT_EQ(read_file(other + ".1"), "") << other;
        EXPECT_TRUE(read_file(other).value_or("").ends_with("printed\n")) << other;
        EXPECT_NE(text().find("said\n"), std::string::npos) << other;
    }
}

// A worker of the resident scheduler that was started between the rotation and its parent's next look.
TEST_F(Log, AForkedProcessFollowsItsParentsName) {
    const pid_t parent = ::fork();
    if (parent == 0) {
        ::dup2(::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT, 0640), STDERR_FILENO);
        log_open({});
        ::rename(file.c_str(), (file + ".1").c_str());
        const pid_t child = ::fork();
        if (child == 0) {
            log_open({.file = file});
            log_follow_rotation();
            ::_exit(::write(STDERR_FILENO, "printed\n", 8) == 8 ? 0 : 1);
        }
        int status = -1;
        ::waitpid(child, &status, 0);
        ::_exit(status == 0 ? 0 : 1);
    }
    int status = -1;
    ::waitpid(parent, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(text(), "printed\n");
    EXPECT_EQ(read_file(file + ".1"), "");
}

// `sudo -u boincadm bin/census 2>/root/note`: the account can't look there.
TEST_F(Log, StderrInAClosedFolderWasNotMoved) {
    const fs::path closed = dir.path() / "closed";
    fs::create_directory(closed);
    const std::string there = (closed / "note").string();
    const pid_t child = ::fork();
    if (child == 0) {
        ::dup2(::open(there.c_str(), O_WRONLY | O_APPEND | O_CREAT, 0640), STDERR_FILENO);
        log_open({});
        fs::permissions(closed, fs::perms::none);
        log_follow_rotation();
        ::_exit(0);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    fs::permissions(closed, fs::perms::owner_all);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(read_file(there).value_or("?"), "");
}

TEST_F(Log, TheFoldersGroupCanWriteNewLogs) {
    const mode_t old = ::umask(0077);
    log_open({.file = file});
    ::umask(old);
    EXPECT_EQ(fs::status(file).permissions() & fs::perms(0060), fs::perms(0060));
    fs::permissions(file, fs::perms(0600));
    log_open({.file = file});
    EXPECT_EQ(fs::status(file).permissions(), fs::perms(0660)) << "one that an older version made";
}

TEST_F(Log, LevelsFilter) {
    log_open({.file = file, .level = LogLevel::kWarning});
    log_normal("no");
    log_debug("no");
    log_warning("yes");
    EXPECT_EQ(behind_time(text()), " [warning] yes\n");
    EXPECT_FALSE(log_enabled(LogLevel::kNormal));
    log_set_level(LogLevel::kDebug);
    EXPECT_TRUE(log_enabled(LogLevel::kDebug));
}

TEST_F(Log, TextOfClientsCannotForgeLines) {
    log_open({.file = file});
    log_normal("name {}", "x\n2026-01-01 00:00:00.0000 UTC [CRITICAL] forged\r\x1b[2J\ttab");
    EXPECT_EQ(behind_time(text()), " name x\\n2026-01-01 00:00:00.0000 UTC [CRITICAL] forged\\r\\x1b[2J\ttab\n");
    fs::resize_file(file, 0);
    log_normal("J\xc3\xa9 {}", "\xc2\x9b[2J\xc2\xa0");
    EXPECT_EQ(behind_time(text()), " J\xc3\xa9 \\x9b[2J\xc2\xa0\n") << "terminals obey U+0080 to U+009F, too";
    fs::resize_file(file, 0);
    log_normal("a line break at the end is dropped\n");
    EXPECT_EQ(behind_time(text()), " a line break at the end is dropped\n");
}

TEST_F(Log, PercentAndBracesAreText) {
    log_open({.file = file});
    log_line(LogLevel::kNormal, "100 %v {} %Y");
    EXPECT_EQ(behind_time(text()), " 100 %v {} %Y\n");
}

TEST_F(Log, ReopensForRotation) {
    log_open({.file = file});
    log_normal("before");
    fs::rename(file, file + ".1");
    log_normal("still to the old file");
    log_reopen();
    log_normal("after");
    EXPECT_THAT(*read_file(file + ".1"), testing::HasSubstr("still to the old file"));
    EXPECT_EQ(behind_time(text()), " after\n");
}

TEST_F(Log, NoticesThatItsFileWasMoved) {
    log_open({.file = file});
    log_normal("before");
    log_follow_rotation();
    log_normal("same file");
    fs::rename(file, file + ".1");
    log_follow_rotation();
    log_normal("after");
    EXPECT_THAT(*read_file(file + ".1"), testing::HasSubstr("same file"));
    EXPECT_EQ(behind_time(text()), " after\n");
}

// As in log_HOST, where the web server's account makes no files.
TEST_F(Log, WithoutALogFileStderrIsUsed) {
    log_open({.file = file});
    log_normal("before");
    fs::rename(file, file + ".1");
    fs::create_directory(file);  // nobody, root neither, can open a file of that name
    testing::internal::CaptureStderr();
    log_follow_rotation();
    log_normal("into the file that was moved");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    EXPECT_THAT(*read_file(file + ".1"), testing::HasSubstr("into the file that was moved"));
    fs::remove(file + ".1");
    testing::internal::CaptureStderr();
    log_follow_rotation();
    log_normal("nobody could read this in a file");
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_THAT(said, testing::HasSubstr("nobody could read this in a file"));
    fs::remove(file);
    log_follow_rotation();
    log_normal("found again");
    EXPECT_EQ(behind_time(text()), " found again\n");
}

TEST_F(Log, KeepsACopyInMemory) {
    log_open({.file = file});
    log_normal("not this");
    log_start_copy();
    log_normal("this");
    log_debug("nor this: the level does not ask for it");
    EXPECT_EQ(behind_time(log_take_copy()), " this\n");
    log_normal("nor this");
    EXPECT_EQ(log_take_copy(), "");
}

TEST_F(Log, AppendsAndIsReadableForTheGroup) {
    dir.write("log", "old\n");
    log_open({.file = file});
    log_normal("new");
    EXPECT_EQ(text().substr(0, 4), "old\n");
    const mode_t old_mask = ::umask(0);
    log_open({.file = file + "2"});
    ::umask(old_mask);
    EXPECT_EQ(fs::status(file + "2").permissions(), fs::perms(0664));
}

TEST_F(Log, MissingFolderIsErrorAndStderrStaysUsable) {
    EXPECT_THROW(log_open({.file = (dir / "none" / "log").string()}), FileError);
    testing::internal::CaptureStderr();
    log_normal("to stderr");
    EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::EndsWith(" to stderr\n"));
}

TEST_F(Log, AFullDiskDoesNotEndTheProgram) {
    log_open({.file = "/dev/full"});  // every write: no space left on device
    for (int i = 0; i < 10; ++i) log_normal("lost");
    log_open({.file = file});
    log_normal("found");
    EXPECT_EQ(behind_time(text()), " found\n");
}

TEST_F(Log, LinesOfManyWritersDoNotMix) {
    const auto write_many = [](char c) {
        for (int i = 0; i < 200; ++i) log_line(LogLevel::kNormal, std::string(300, c));
    };
    log_open({.file = file});
    std::vector<pid_t> children;
    for (const char c : {'a', 'b', 'c'}) {
        children.push_back(::fork());
        if (children.back() == 0) {
            write_many(c);
            ::_exit(0);
        }
    }
    std::thread one(write_many, 'd'), two(write_many, 'e');
    one.join();
    two.join();
    for (const pid_t child : children) ::waitpid(child, nullptr, 0);
    const std::string all = text();
    int lines = 0;
    for (const auto line : split(all, '\n')) {
        if (line.empty()) continue;
        ++lines;
        ASSERT_EQ(line.size(), 28u + 1 + 300);
        ASSERT_EQ(line.find_first_not_of(line.back(), 29), std::string_view::npos);
    }
    EXPECT_EQ(lines, 1000);
}

}  // namespace
}  // namespace sluice
