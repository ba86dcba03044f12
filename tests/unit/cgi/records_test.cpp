// SPDX-License-Identifier: LGPL-3.0-or-later
// FastCGI records, bytes as the specification (FastCGI 1.0, sections 3.3 and 3.4) has them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sched/cgi/fastcgi_records.h"

namespace sluice::fastcgi {
namespace {

using namespace std::string_literals;

/// What came, pieces of one record put together; "type/id:content", an empty record as such.
struct Sink final : RecordSink {
    bool on_content(RecordType type, std::uint16_t id, std::string_view piece) override {
        const std::string label = std::to_string(type) + "/" + std::to_string(id) + ":";
        if (piece.empty() || seen.empty() || !seen.back().starts_with(label) || seen.back() == label)
            seen.push_back(label);
        seen.back() += piece;
        return !refuses;
    }
    std::vector<std::string> seen;
    bool refuses = false;
};

// begin (responder, keep), params "ab" with 3 bytes of padding, params end, stdin "hello", stdin end with padding
const std::string kStream = "\1\1\0\7\0\10\0\0\0\1\1\0\0\0\0\0"s + "\1\4\0\7\0\2\3\0ab\0\0\0"s + "\1\4\0\7\0\0\0\0"s +
                            "\1\5\0\7\0\5\0\0hello"s + "\1\5\0\7\0\0\2\0\0\0"s;

TEST(Records, AreReadHoweverTheyAreCut) {
    for (std::size_t step = 1; step <= kStream.size(); ++step) {
        RecordReader reader;
        Sink sink;
        for (std::size_t at = 0; at < kStream.size(); at += step)
            ASSERT_TRUE(reader.feed(std::string_view(kStream).substr(at, step), sink)) << step;
        EXPECT_THAT(sink.seen, testing::ElementsAre("1/7:\0\1\1\0\0\0\0\0"s, "4/7:ab", "4/7:", "5/7:hello", "5/7:"))
            << step;
    }
}

TEST(Records, OtherBytesAreRefused) {
    RecordReader reader;
    Sink sink;
    EXPECT_FALSE(reader.feed("GET / HTTP/1.0\r\n", sink));
    RecordReader other;
    sink.refuses = true;
    EXPECT_FALSE(other.feed(kStream, sink));
}

TEST(Records, VariablesAreFoundAndFalseLengthsRefused) {
    const std::string long_value(300, 'v');
    const std::string params = "\4\3NAMEval"s + "\4\200\0\1\54LONG"s + long_value + "\1\0E"s;
    EXPECT_EQ(variable(params, "NAME"), "val");
    EXPECT_EQ(variable(params, "LONG"), long_value);
    EXPECT_EQ(variable(params, "E"), "");
    EXPECT_EQ(variable(params, "AM"), "");
    EXPECT_EQ(variable("\4\377\377\377\377NAMEval"s, "NAME"), "");
    EXPECT_EQ(variable("\377\377\377\377\377\377\377\377"s, "NAME"), "");
    for (std::size_t cut = 0; cut < params.size(); ++cut) variable(std::string_view(params).substr(0, cut), "LONG");
    EXPECT_EQ(variable(pair("A", "1") + pair("B", long_value), "B"), long_value);
}

TEST(Records, AnAnswerIsCutIntoRecords) {
    EXPECT_EQ(answer(7, "hi"),
              "\1\6\0\7\0\2\0\0hi"s + "\1\6\0\7\0\0\0\0"s + "\1\3\0\7\0\10\0\0"s + std::string(8, '\0'));
    const std::string long_text(150000, 'r');
    RecordReader reader;
    Sink sink;
    ASSERT_TRUE(reader.feed(answer(258, long_text), sink));
    EXPECT_THAT(sink.seen, testing::ElementsAre("6/258:" + long_text, "6/258:", "3/258:" + std::string(8, '\0')));
}

}  // namespace
}  // namespace sluice::fastcgi
