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

TEST(BodyReader, SilenceAndStopEndIt) {
    int fds[2];
    ASSERT_EQ(::pipe(fds), 0);
    ASSERT_EQ(::write(fds[1], "a\nb", 3), 3);
    BodyReader silent(upload::read_from_fd(fds[0], [] { return false; }), {}, upload::Milliseconds(20));
    EXPECT_EQ(silent.line(10), "a");
    EXPECT_EQ(silent.line(10), "b") << "nothing more comes";
    ASSERT_EQ(::write(fds[1], "c\n", 2), 2);
    BodyReader stopped(upload::read_from_fd(fds[0], [] { return true; }), {});
    EXPECT_EQ(stopped.line(10), std::nullopt);
    ::close(fds[0]);
    ::close(fds[1]);
}

TEST(BodyReader, DrainIsBounded) {
    std::size_t asked = 0;
    BodyReader endless([&](char*, std::size_t size, upload::Milliseconds) { return ++asked, size; }, {});
    endless.drain(std::chrono::milliseconds(5));
    EXPECT_GT(asked, 0u);
    // Who says nothing and does not hang up is not waited for longer either.
    int fds[2];
    ASSERT_EQ(::pipe(fds), 0);
    BodyReader silent(upload::read_from_fd(fds[0], [] { return false; }), {});
    silent.drain(std::chrono::milliseconds(20));
    ::close(fds[0]);
    ::close(fds[1]);
    BodyReader body = body_of(std::string(500000, 'x'), 1000);
    body.drain(std::chrono::minutes(1));
    EXPECT_EQ(body.line(10), std::nullopt);
}

}  // namespace
}  // namespace sluice::test
