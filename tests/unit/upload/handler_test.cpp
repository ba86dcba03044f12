// SPDX-License-Identifier: LGPL-3.0-or-later
// Checks, answers and what is on disk afterwards. The program around it: tests/scenario/upload.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/upload/handler_fixture.h"

namespace sluice::test {
namespace {

TEST_F(Handler, UploadAndSize) {
    EXPECT_EQ(size_of("wu_0_r1_0").file_size, 0u);
    expect({}, kDone, "");
    EXPECT_EQ(content(), "0123456789");
    EXPECT_EQ(size_of("wu_0_r1_0").file_size, 10u);
}

TEST_F(Handler, FanOut) {
    settings.fanout = 1024;
    Request r;
    r.name = "foo";
    expect(r, kDone, "");
    EXPECT_EQ(content("db/foo"), "0123456789");
    EXPECT_EQ(size_of("foo").file_size, 10u);
}

TEST_F(Handler, Certificates) {
    Request unsigned_one;
    unsigned_one.sign = false;
    expect(unsigned_one, kPermanent, "missing signature");
    Request no_limit;
    no_limit.max_nbytes = "";
    expect(no_limit, kPermanent, "missing max_nbytes");
    Request other;
    other.signed_name = "another";
    expect(other, kPermanent, "invalid signature");
    Request raised;
    std::string text = raised.text();
    text.replace(text.find("<max_nbytes>1000"), 16, "<max_nbytes>9000");
    EXPECT_EQ(handle(text).message, "invalid signature") << "the limit is signed too";
    EXPECT_EQ(content(), "NONE");
    settings.key = nullptr;
    expect(unsigned_one, kDone, "");
    EXPECT_EQ(content(), "0123456789");
}

TEST_F(Handler, NothingAboveTheLimitIsEverOnDisk) {
    Request large;
    large.max_nbytes = "9";
    expect(large, kPermanent, "exceeds limit");
    EXPECT_EQ(content(), "NONE");
    Request liar;  // says 9 and sends 10 million
    liar.max_nbytes = liar.nbytes = "9";
    liar.data = std::string(10000000, 'x');
    expect(liar, kDone, "");
    EXPECT_EQ(content(), "xxxxxxxxx");
    Request huge;
    huge.nbytes = "1e300";
    expect(huge, kPermanent, "exceeds limit");
    settings.key = nullptr;
    expect(huge, kPermanent, "exceeds limit");
}

TEST_F(Handler, OddNumbers) {
    for (const char* nbytes : {"", "-1", "nan", "inf", "x"}) {
        Request r;
        r.nbytes = nbytes;
        expect(r, kPermanent, "nbytes missing or negative");
    }
    for (const char* offset : {"-1", "nan", "1.5", "1e300"}) {
        Request r;
        r.offset = offset;
        expect(r, kPermanent, "bad offset");
    }
    EXPECT_EQ(content(), "NONE");
}

TEST_F(Handler, MissingParts) {
    EXPECT_EQ(handle("").message, "no command");
    EXPECT_EQ(handle("garbage\n").status, kTransient);
    EXPECT_EQ(handle("<file_upload>\n<name></name>\n<data>\n").message, "Missing name");
    EXPECT_EQ(handle("<file_upload>\n<name>x</name>\n").message, "Missing <data> tag");
}

TEST_F(Handler, NamesCantLeaveTheFolder) {
    const std::string x = dir.path().filename().string() + ".x";  // a name that nobody else has in the parent folder
    const std::vector<std::string> names = {"../" + x, "a/../../" + x, "/etc/" + x, "a\x01", "..",
                                            ".",       "sub/x",        "a/",        "./x"};
    for (const std::string& name : names) {
        Request r;
        r.name = name;
        expect(r, kPermanent, "invalid filename");
        EXPECT_EQ(size_of(name).status, kPermanent) << name;
    }
    Request long_name;
    long_name.name = std::string(300, 'n');
    expect(long_name, kPermanent, "invalid filename");
    EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
    EXPECT_FALSE(std::filesystem::exists(dir.path().parent_path() / x));
}

TEST_F(Handler, ResumingAfterABreak) {
    Request first;
    first.data = "0123";
    expect(first, kTransient, "EOF on socket read");
    EXPECT_EQ(content(), "0123") << "what arrived stays";
    EXPECT_EQ(size_of("wu_0_r1_0").file_size, 4u);
    Request second;
    second.offset = "4";
    second.data = "456789";
    expect(second, kDone, "");
    EXPECT_EQ(content(), "0123456789");
    Request gap;
    gap.name = "gap";
    gap.offset = "4";
    expect(gap, kTransient, "< offset");
    EXPECT_EQ(content("gap"), "");
}

TEST_F(Handler, AnOlderLongerFile) {
    dir.write("wu_0_r1_0", "OLD OUTPUT OF THE SAME NAME");
    Request partial;
    partial.data = "0123";
    expect(partial, kTransient, "EOF");
    EXPECT_EQ(content(), "0123") << "a prefix of the new one: resumed, not taken for complete";
    dir.write("wu_0_r1_0", "0123456789 and a tail");
    expect({}, kDone, "");
    EXPECT_EQ(content(), "0123456789") << "upstream leaves the tail";
}

TEST_F(Handler, RepeatedUploadDoesNotHurtCompleteFile) {
    dir.write("wu_0_r1_0", "0123456789");
    Request again;
    again.data = "0123";
    expect(again, kTransient, "EOF");
    EXPECT_EQ(content(), "0123456789") << "the same bytes: nothing to cut";
}

TEST_F(Handler, EmptyFiles) {
    Request empty;
    empty.nbytes = "0";
    empty.data = "";
    expect(empty, kDone, "");
    EXPECT_EQ(content(), "");
    std::filesystem::remove(dir / "wu_0_r1_0");
    dir.write("wu_0_r1_0", "old");
    expect(empty, kDone, "");
    EXPECT_EQ(content(), "");
    empty.offset = "5";
    expect(empty, kPermanent, "bad offset");
}

TEST_F(Handler, BehindTheEndIsDone) {
    dir.write("wu_0_r1_0", "0123456789");
    for (const char* offset : {"10", "11", "5000000000"}) {
        Request r;
        r.offset = offset;
        expect(r, kDone, "");
    }
    EXPECT_EQ(content(), "0123456789");
}

TEST_F(Handler, ACompletedFileIsLeftAlone) {
    settings.completed_permission = 0444;
    expect({}, kDone, "");
    Request other;
    other.data = "abcdefghij";
    expect(other, kDone, "");
    EXPECT_EQ(content(), "0123456789");
    struct stat s {};
    ASSERT_EQ(::stat((dir / "wu_0_r1_0").c_str(), &s), 0);
    EXPECT_EQ(s.st_mode & 0777, 0444u);
}

TEST_F(Handler, WhatIsCompleteIsNeverReplaced) {
    expect({}, kDone, "");
    Request forged;
    forged.data = "forged one";
    expect(forged, kDone, "");
    EXPECT_EQ(content(), "0123456789");
    Request longer;
    longer.nbytes = "12";
    for (const char* offset : {"0", "10"}) {
        longer.offset = offset;
        longer.data = std::string(offset) == "0" ? "0123456789AB" : "AB";
        expect(longer, kDone, "");
        EXPECT_EQ(content(), "0123456789") << offset;
    }
    Request emptied;
    emptied.nbytes = "0";
    emptied.data = "";
    expect(emptied, kDone, "");
    EXPECT_EQ(content(), "0123456789");
    EXPECT_EQ(size_of("wu_0_r1_0").file_size, 10u) << "a client that asks goes on to its next file";
}

TEST_F(Handler, WhatIsNotCompleteIsSentAgain) {
    Request broken;
    broken.data = "01234";
    expect(broken, kTransient, "EOF");
    Request rest;
    rest.offset = "5";
    rest.data = "56789";
    expect(rest, kDone, "");
    EXPECT_EQ(content(), "0123456789");
}

TEST_F(Handler, AnAdminMayLeaveCompleteFilesWritable) {
    settings.completed_permission = 0664;
    expect({}, kDone, "");
    Request other;
    other.data = "abcdefghij";
    expect(other, kDone, "");
    EXPECT_EQ(content(), "abcdefghij");
}

TEST_F(Handler, InitialPermissions) {
    const mode_t old = ::umask(0);
    settings.initial_permission = 0640;
    Request broken;
    broken.data = "0123";
    expect(broken, kTransient, "EOF");
    ::umask(old);
    struct stat s {};
    ASSERT_EQ(::stat((dir / "wu_0_r1_0").c_str(), &s), 0);
    EXPECT_EQ(s.st_mode & 0777, 0640u);
    Request rest;
    rest.offset = "4";
    rest.data = "456789";
    expect(rest, kDone, "");
    ASSERT_EQ(::stat((dir / "wu_0_r1_0").c_str(), &s), 0);
    EXPECT_EQ(s.st_mode & 0777, 0440u) << "complete: nobody writes it any more";
}

TEST_F(Handler, SizeSaysWhetherFileCouldBeStored) {
    const auto close = [](const std::filesystem::path& folder, bool closed) {
        std::filesystem::permissions(folder, std::filesystem::perms(closed ? 0555 : 0755));
    };
    EXPECT_EQ(size_of("wu_0_r1_0").file_size, 0);
    close(dir.path(), true);
    const Answer refused = size_of("wu_0_r1_0");
    EXPECT_EQ(refused.status, Answer::Status::kTransient) << "the client comes back";
    EXPECT_EQ(refused.message, "can't write to the upload folder");
    close(dir.path(), false);

    settings.fanout = 16;
    const std::filesystem::path folder = fanout_path(dir.path(), "wu_0_r1_0", 16).parent_path();
    EXPECT_EQ(size_of("wu_0_r1_0").file_size, 0) << "its folder is made with the file";
    std::filesystem::create_directory(folder);
    close(folder, true);
    EXPECT_EQ(size_of("wu_0_r1_0").status, Answer::Status::kTransient);
    close(folder, false);
    EXPECT_EQ(handle(Request{}.text()).status, Answer::Status::kDone);
    close(folder, true);
    EXPECT_EQ(size_of("wu_0_r1_0").file_size, 10) << "what is there is told";
    close(folder, false);
}

// They would vanish at the next mount.
TEST_F(Handler, ABareMountPointTakesNothing) {
    settings.fanout = 16;
    bool mounted = false;
    std::filesystem::path asked;
    settings.is_mounted = [&](const std::filesystem::path& folder) {
        asked = folder;
        return mounted;
    };
    const Answer refused = size_of("wu_0_r1_0");
    EXPECT_EQ(refused.status, kTransient);
    EXPECT_EQ(refused.message, "can't write to the upload folder");
    EXPECT_EQ(asked, dir.path());
    asked.clear();
    expect({}, kTransient, "can't open folder");
    EXPECT_EQ(asked, dir.path());
    EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
    mounted = true;
    EXPECT_EQ(size_of("wu_0_r1_0").file_size, 0);
    expect({}, kDone, "");
    mounted = false;  // a folder that is there was not made in the mount point
    Request second;
    second.name = "wu_0_r1_0";
    expect(second, kDone, "");
    EXPECT_EQ(size_of("wu_0_r1_0").file_size, 10);
}

TEST_F(Handler, FullDisks) {
    settings.free_space = [](const std::filesystem::path&) { return 9e8; };
    EXPECT_EQ(size_of("wu_0_r1_0").message, "Server is out of disk space");
    EXPECT_EQ(size_of("wu_0_r1_0").status, kTransient);
    expect({}, kDone, "");
    settings.free_space = [](const std::filesystem::path&) { return 5.0; };
    Request r;
    r.name = "second";
    expect(r, kTransient, "No space left on server");
    EXPECT_EQ(content("second"), "NONE");
    settings.free_space = [](const std::filesystem::path&) { return std::nullopt; };
    expect(r, kDone, "");
}

TEST_F(Handler, LargeSizesAreNot32Bit) {
    // A sparse file of 5 GB.
    dir.write("big", "");
    ASSERT_EQ(::truncate((dir / "big").c_str(), 5000000000), 0);
    EXPECT_EQ(upload::answer_text(size_of("big")),
              "Content-type: text/plain\n\n<data_server_reply>\n    <status>0</status>\n"
              "    <file_size>5000000000</file_size>\n</data_server_reply>\n");
    Request r;
    r.name = "big";
    r.max_nbytes = "6000000000";
    r.nbytes = "5000000010";
    r.offset = "5000000000";
    expect(r, kDone, "");
    EXPECT_EQ(std::filesystem::file_size(dir / "big"), 5000000010u);
}

TEST_F(Handler, AnswersAreWellFormedWhateverTheName) {
    const std::string text = upload::answer_text(size_of("</message></data_server_reply>.."));
    EXPECT_EQ(text,
              "Content-type: text/plain\n\n<data_server_reply>\n    <status>-1</status>\n"
              "    <message>Bad filename</message>\n</data_server_reply>\n");
    Request r;
    r.name = "&lt;/message&gt;/x";
    r.signed_name = "</message>/x";
    const std::string refused = upload::answer_text(handle(r.text()));
    EXPECT_EQ(refused.find("</message>/x"), std::string::npos) << refused;
}

}  // namespace
}  // namespace sluice::test
