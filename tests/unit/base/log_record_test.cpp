// SPDX-License-Identifier: LGPL-3.0-or-later
// <log_format>json</log_format>: records as they stand in logs, and how readers of logs see them.
#include "sluice/base/log_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/base/rng.h"
#include "sluice/base/text.h"
#include "tests/support/fixed_rng.h"
#include "tests/support/notify_socket.h"
#include "tests/support/temp_dir.h"

namespace sluice {
namespace {

using testing::MatchesRegex;

LogRecord a_record(std::string_view message) { return {1795867072012, "critical", "feeder", 42, "", message}; }

TEST(LogRecord, IsAnObjectOnOneLine) {
    EXPECT_EQ(json_line(a_record("it \"fails\"")),
              "{\"time\":\"2026-11-28T11:57:52.012Z\",\"level\":\"critical\",\"program\":\"feeder\",\"pid\":42,"
              "\"message\":\"it \\\"fails\\\"\"}\n");
}

TEST(LogRecord, TellsIdsThatStandBeforeTheDetails) {
    const auto ids = [](std::string_view message) {
        auto json = nlohmann::json::parse(json_line(a_record(message)));
        for (const char* name : {"time", "level", "program", "pid", "message"}) json.erase(name);
        return json.dump();
    };
    EXPECT_EQ(ids("[HOST#7] [RESULT#12 wu_1_0] [WU#3 wu_1] sent"), R"({"host":7,"result":12,"workunit":3})");
    EXPECT_EQ(ids("Sending reply to [HOST#7]: 0 results"), R"({"host":7})");
    EXPECT_EQ(ids("[USER#5] says: [HOST#7] \"[WU#1]\""), R"({"user":5})") << "a client's words are none";
    EXPECT_EQ(ids("[HOST#] [WU#07] [RESULT#9999999999999999999] [USER#1x]"), "{}");
}

TEST(LogRecord, ReadersSeeTheLineOfText) {
    EXPECT_EQ(as_text_line("{\"time\":\"2026-11-28T11:57:52.012Z\",\"level\":\"critical\",\"program\":\"feeder\","
                           "\"pid\":42,\"service\":\"batch_watch\",\"message\":\"a\\\\b \\\"c\\\"\\n\\u001b\\td\"}"),
              "2026-11-28 11:57:52.0120 UTC [PID=42   ] [CRITICAL] batch_watch: a\\b \"c\"\\n\\x1b\td");
    EXPECT_THAT(as_text_line("<6>" + json_line({0, "normal", "x", 1234567, "", "said"})),
                testing::StartsWith("1970-01-01 00:00:00.0000 UTC [PID=1234567] said"));
    for (const char* other : {"", "2026-11-28 11:57:52.0000 UTC [CRITICAL] x", "{}", "{\"time\":\"", "{\"time\":\"1\"}",
                              "{\"time\":\"2026-11-28T11:57:52.012Z", "<6>", "{\"message\":\"x\"}"})
        EXPECT_NO_THROW(as_text_line(other)) << other;
    EXPECT_EQ(as_text_line("{\"time\":\"1\"}"), "{\"time\":\"1\"}");
}

std::string in_utf8(std::string_view text) {
    std::string valid;
    for (std::size_t n = 0; !text.empty(); text.remove_prefix(std::max<std::size_t>(n, 1))) {
        n = utf8_sequence(text);
        valid += n == 0 ? "\xef\xbf\xbd" : std::string(text.substr(0, n));
    }
    return valid;
}

// Whatever bytes a message has, a parser of JSON takes the line, and gets back what was valid in it.
TEST(LogRecord, AnyBytesMakeOneValidLine) {
    const auto rng = make_system_rng();
    const std::uint64_t seed = rng->below(1u << 30);
    SCOPED_TRACE(seed);
    test::FixedRng bytes(seed);
    static constexpr const char* kPieces[] = {
        "\n",           "\r\n",     "\"",           "\\",   "\\u00", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
        "\xed\xa0\x80", "\xc2\x9b", "{\"time\":\"", "\x7f", "[HOST#"};
    for (int i = 0; i < 20000; ++i) {
        std::string message;
        for (std::uint64_t n = bytes.below(40); n > 0; --n) {
            if (bytes.below(3) == 0)
                message += kPieces[bytes.below(std::size(kPieces))];
            else
                message += static_cast<char>(bytes.below(256));
        }
        const std::string line = json_line({1795867072012, "normal", message, 1, message, message});
        ASSERT_EQ(line.find('\n'), line.size() - 1);
        for (const char c : line.substr(0, line.size() - 1))
            ASSERT_TRUE(static_cast<unsigned char>(c) >= 32 && c != 127) << line;
        const auto json = nlohmann::json::parse(line, nullptr, false);
        ASSERT_FALSE(json.is_discarded()) << line;
        ASSERT_EQ(json.at("message"), in_utf8(message)) << "nothing is lost of valid UTF-8";
        ASSERT_EQ(json.value("service", ""), in_utf8(message));
        const std::string text = as_text_line(line.substr(0, line.size() - 1));
        ASSERT_TRUE(text.starts_with("2026-11-28 11:57:52.0120 UTC [PID=1    ] ")) << text;
        ASSERT_EQ(text.find('\n'), text.npos);
    }
}

TEST(LogFormatOption, IsTheLastOneOutsideOfComments) {
    EXPECT_EQ(log_format_in("<config><log_format> json\n</log_format></config>"), LogFormat::kJson);
    EXPECT_EQ(log_format_in("<log_format>json</log_format><log_format>text</log_format>"), LogFormat::kText);
    EXPECT_EQ(log_format_in("<!-- <log_format>json</log_format> -->"), LogFormat::kText);
    EXPECT_EQ(log_format_in("<!-- x --><log_format>json</log_format><!-- "), LogFormat::kJson);
    for (const char* other : {"", "<log_format>", "<log_format>JSON</log_format>", "<log_format/>", "log_format json"})
        EXPECT_EQ(log_format_in(other), LogFormat::kText) << other;
}

class JsonLog : public testing::Test {
  protected:
    JsonLog() { dir_.write("config.xml", "<boinc><config><log_format>json</log_format></config></boinc>\n"); }
    ~JsonLog() override {
        ::unsetenv("BOINC_PROJECT_DIR");
        log_open({});
    }
    nlohmann::json record() {
        const auto json = nlohmann::json::parse(read_file(file_).value_or(""), nullptr, false);
        fs::resize_file(file_, 0);
        return json;
    }
    test::TempDir dir_;
    const test::Variable project_{"BOINC_PROJECT_DIR", dir_.path().string()};
    const std::string file_ = (dir_ / "log").string();
};

TEST_F(JsonLog, HasARecordALine) {
    log_open({.file = file_, .level = LogLevel::kDebug, .with_pid = true});
    const std::pair<LogLevel, const char*> levels[] = {{LogLevel::kCritical, "critical"},
                                                       {LogLevel::kWarning, "warning"},
                                                       {LogLevel::kNormal, "normal"},
                                                       {LogLevel::kDebug, "debug"}};
    for (const auto& [level, name] : levels) {
        log_at(level, "[HOST#{}] one\ntwo\n", 5);
        auto said = record();
        EXPECT_THAT(std::string(said.at("time")), MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\\.[0-9]{3}Z"));
        said.erase("time");
        EXPECT_EQ(said, nlohmann::json({{"level", name},
                                        {"program", "base_test"},
                                        {"pid", ::getpid()},
                                        {"message", "[HOST#5] one\ntwo"},
                                        {"host", 5}}));
    }
    log_set_part("batch_watch");
    log_normal("said");
    log_set_part("");
    const auto said = record();
    EXPECT_EQ(said.at("service"), "batch_watch");
    EXPECT_EQ(said.at("message"), "said");
}

TEST_F(JsonLog, SaidTodayInEitherFormCounts) {
    const auto lines = [&] {
        const std::string text = read_file(file_).value_or("");
        return std::count(text.begin(), text.end(), '\n');
    };
    const auto say_in_child = [&](LogFormat format) {
        const pid_t child = ::fork();
        if (child == 0) {
            log_open({.file = file_});
            log_set_format(format);
            log_once_a_day(LogLevel::kWarning, "a \"quoted\"\nline");
            log_once_an_hour(LogLevel::kWarning, "another \"quoted\"\nline");
            ::_exit(0);
        }
        int status = -1;
        ::waitpid(child, &status, 0);
        return status;
    };
    for (const auto& [first, second] : {std::pair{LogFormat::kJson, LogFormat::kText},
                                        {LogFormat::kText, LogFormat::kJson},
                                        {LogFormat::kJson, LogFormat::kJson}}) {
        fs::remove(file_);
        EXPECT_EQ(say_in_child(first), 0);
        EXPECT_EQ(lines(), 2);
        EXPECT_EQ(say_in_child(second), 0);
        EXPECT_LE(lines(), 4);
        if (lines() != 2) {  // an hour, or a day, may have ended between the two
            EXPECT_EQ(say_in_child(second), 0);
            EXPECT_LE(lines(), 4);
        }
    }
}

}  // namespace
}  // namespace sluice
