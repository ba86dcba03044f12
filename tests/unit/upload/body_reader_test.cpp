// SPDX-License-Identifier: LGPL-3.0-or-later
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/unit/upload/body_of.h"

namespace sluice::test {
namespace {

using upload::BodyReader;

std::string read_all(BodyReader& body) {
    std::string out(1 << 20, '\0');
    out.resize(body.read(out.data(), out.size()));
    return out;
}

TEST(BodyReader, LinesThenBytes) {
    for (const std::size_t piece : {1u, 2u, 3u, 7u, 1000000u}) {
        BodyReader body = body_of("one\ntwo\r\n\n<data>\n\n\0binary\n", piece);
        EXPECT_EQ(body.line(100), "one");
        EXPECT_EQ(body.line(100), "two");
        EXPECT_EQ(body.line(100), "");
        EXPECT_EQ(body.line(100), "<data>");
        EXPECT_EQ(read_all(body), "\n") << "a string literal ends at its NUL";
        EXPECT_EQ(body.line(100), std::nullopt);
    }
}

TEST(BodyReader, BinaryDataIsUntouched) {
    std::string bytes;
    for (int i = 0; i < 100000; ++i) bytes += static_cast<char>(i * 7);
    BodyReader body = body_of("x\n" + bytes, 777);
    EXPECT_EQ(body.line(10), "x");
    EXPECT_EQ(read_all(body), bytes);
}

TEST(BodyReader, BlocksAreWholeWhereverTheyWereReadTo) {
    std::string bytes;
    for (int i = 0; i < 100000; ++i) bytes += static_cast<char>(i * 7);
    for (const std::size_t piece : {777u, 1000000u}) {
        BodyReader body = body_of("x\n" + bytes, piece);
        EXPECT_EQ(body.line(10), "x");
        std::string room, out;
        for (const std::size_t size : {100u, 50000u, 0u, 40000u, 100000u}) out += body.block(size, room);
        EXPECT_EQ(out, bytes) << "the last block ends with the body";
        EXPECT_EQ(body.block(10, room), "");
    }
}

TEST(BodyReader, LongLinesAreCut) {
    BodyReader body = body_of(std::string(1000000, 'x') + "\nnext\nlast", 1000);
    EXPECT_EQ(body.line(10), "xxxxxxxxxx");
    EXPECT_EQ(body.line(10), "next");
    EXPECT_EQ(body.line(10), "last");
    EXPECT_EQ(body.line(10), std::nullopt);
}

TEST(BodyReader, ContentLengthIsTheEnd) {
    BodyReader body = body_of("head\nbodyMORE", 3, 9);
    EXPECT_EQ(body.line(100), "head");
    EXPECT_EQ(read_all(body), "body");
    BodyReader shorter = body_of("ab", 1, 100);
    EXPECT_EQ(read_all(shorter), "ab");
}

/// Hands out `text`, then nothing more in time.
class SilentGateway final : public Gateway {
  public:
    explicit SilentGateway(std::string text) : Gateway([] { return false; }), text_(std::move(text)) {}
    bool accept() override { return true; }
    std::string variable(const char*) const override { return ""; }
    ReadResult read(char* buffer, std::size_t size, Deadline) override {
        const std::size_t n = text_.copy(buffer, size);
        text_.erase(0, n);
        return {n, n == 0};
    }
    void write(std::string_view) override {}
    void finish() override {}
    bool persistent() const override { return false; }

  private:
    std::string text_;
};

TEST(BodyReader, SilenceAndStopEndIt) {
    SilentGateway gateway("a\nb");
    BodyReader silent(upload::read_from(gateway, [] { return false; }), {}, upload::Milliseconds(20));
    EXPECT_EQ(silent.line(10), "a");
    EXPECT_EQ(silent.line(10), "b") << "nothing more comes";
    SilentGateway more("c\n");
    BodyReader stopped(upload::read_from(more, [] { return true; }), {});
    EXPECT_EQ(stopped.line(10), std::nullopt);
    SilentGateway never("");
    int asked = 0;
    BodyReader told_later(upload::read_from(never, [&] { return ++asked == 3; }), {});
    EXPECT_EQ(told_later.line(10), std::nullopt) << "with five minutes of patience left";
}

TEST(BodyReader, DrainIsBounded) {
    std::size_t asked = 0;
    BodyReader endless([&](char*, std::size_t size, upload::Milliseconds) { return ++asked, size; }, {});
    endless.drain(std::chrono::milliseconds(5));
    EXPECT_GT(asked, 0u);
    // Who says nothing and does not hang up is not waited for longer either.
    SilentGateway gateway("");
    BodyReader silent(upload::read_from(gateway, [] { return false; }), {});
    silent.drain(std::chrono::milliseconds(20));
    BodyReader body = body_of(std::string(500000, 'x'), 1000);
    body.drain(std::chrono::minutes(1));
    EXPECT_EQ(body.line(10), std::nullopt);
}

}  // namespace
}  // namespace sluice::test
