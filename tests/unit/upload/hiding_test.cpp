// SPDX-License-Identifier: LGPL-3.0-or-later
// <hide_incomplete_uploads>: what is not complete does not have its name.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tests/unit/upload/handler_fixture.h"

namespace sluice::test {
namespace {

struct HidingHandler : Handler {
    HidingHandler() { settings.hide_incomplete = true; }
    upload::UploadFile open() const {
        return std::move(
            *upload::open_upload_file(dir.path(), "wu_0_r1_0", upload::UploadFile::Access::kWriteBeside, 0664).file);
    }
};

TEST_F(HidingHandler, ResumingAfterABreak) {
    Request first;
    first.data = "0123";
    expect(first, kTransient, "EOF on socket read");
    EXPECT_EQ(part(), "0123") << "what arrived stays";
    EXPECT_EQ(content(), "NONE") << "what is not complete is nobody's result";
    EXPECT_EQ(size_of("wu_0_r1_0").file_size, 4u);
    Request second;
    second.offset = "4";
    second.data = "456789";
    expect(second, kDone, "");
    EXPECT_EQ(content(), "0123456789");
    EXPECT_EQ(part(), "NONE");
    Request gap;
    gap.name = "gap";
    gap.offset = "4";
    expect(gap, kTransient, "< offset");
    EXPECT_EQ(content("gap"), "NONE");
    Request empty;
    empty.name = "empty", empty.nbytes = "0", empty.data = "";
    expect(empty, kDone, "");
    EXPECT_EQ(content("empty"), "");
}

/// Begun by the original handler, or before the option was set; and the other way round.
TEST_F(HidingHandler, WhatWasBegunElsewhereEndsThere) {
    Request half;
    half.data = "01234";
    Request rest;
    rest.offset = "5", rest.data = "56789";
    for (const bool hidden_first : {false, true}) {
        settings.hide_incomplete = hidden_first;
        expect(half, kTransient, "EOF");
        settings.hide_incomplete = !hidden_first;
        EXPECT_EQ(size_of("wu_0_r1_0").file_size, 5u);
        expect(rest, kDone, "");
        EXPECT_EQ(content(), "0123456789");
        EXPECT_EQ(part(), "NONE");
        std::filesystem::remove(dir / "wu_0_r1_0");
    }
}

/// Announces more than it sends, reports, and sends something else when the validator is through.
TEST_F(HidingHandler, WhoNeverCompletesHasUploadedNothing) {
    Request broken;
    broken.nbytes = "11";
    expect(broken, kTransient, "EOF");
    EXPECT_EQ(content(), "NONE");
    Request changed;
    changed.data = "abcdefghij";
    expect(changed, kDone, "");
    EXPECT_EQ(content(), "abcdefghij");
    expect({}, kDone, "");
    EXPECT_EQ(content(), "abcdefghij") << "whoever could read it has read what stays";
    broken.offset = "10";
    broken.data = "A";
    expect(broken, kDone, "");
    EXPECT_EQ(content(), "abcdefghij");
    EXPECT_EQ(size_of("wu_0_r1_0").file_size, 10u);
}

TEST_F(HidingHandler, NamesOfAnyLengthCanBeUploaded) {
    for (const std::size_t length : {std::size_t{200}, std::size_t{249}, std::size_t{250}, std::size_t{255}}) {
        Request r;
        r.name = std::string(length, 'n');
        const std::string all = r.data;
        r.data = all.substr(0, 3);
        expect(r, kTransient, "EOF");
        EXPECT_EQ(size_of(r.name).file_size, 3u);
        r.offset = "3", r.data = all.substr(3);
        expect(r, kDone, "");
        EXPECT_EQ(content(r.name), all);
    }
}

/// A client that finds all its bytes there sends no more of them: the file must have its name by then.
TEST_F(HidingHandler, FileWithAllItsBytesHasItsName) {
    Request r;
    const std::string text = r.text();
    handle(text.substr(0, text.size() - 1));
    EXPECT_EQ(part(), "012345678");
    // The writer dies between the last byte and the end: as it leaves the file, and what its client sees.
    auto opened = upload::open_upload_file(dir.path(), r.name, upload::UploadFile::Access::kWriteBeside, 0664);
    ASSERT_TRUE(opened.file);
    EXPECT_FALSE(opened.file->lock());
    EXPECT_FALSE(opened.file->take_name());
    EXPECT_EQ(content(), "012345678");
    EXPECT_FALSE(opened.file->put(9, "9"));
    opened.file.reset();
    EXPECT_EQ(size_of(r.name).file_size, 10u);
    expect(r, kDone, "");
    EXPECT_EQ(content(), "0123456789");
}

/// A client comes again while the handler of its first try is at the end, and dies there: told that all is well, the
/// client would send no more.
TEST_F(HidingHandler, WhatHasItsNameNeedNotBeComplete) {
    const auto name_and_die = [&] {
        upload::UploadFile first = open();
        ASSERT_FALSE(first.lock());
        ASSERT_FALSE(first.put(0, "01234567"));
        ASSERT_FALSE(first.take_name());
    };
    upload::UploadFile second = open();  // the same file
    name_and_die();
    ASSERT_FALSE(second.lock());
    EXPECT_FALSE(second.completed());
    EXPECT_FALSE(second.put(8, "89"));
    EXPECT_FALSE(second.take_name());
    EXPECT_FALSE(second.finish(10));
    EXPECT_EQ(content(), "0123456789");
    std::filesystem::remove(dir / "wu_0_r1_0");
    name_and_die();
    std::filesystem::rename(dir / "wu_0_r1_0", dir / "elsewhere");
    upload::UploadFile late = open();  // made when the other one had just been renamed
    std::filesystem::rename(dir / "elsewhere", dir / "wu_0_r1_0");
    EXPECT_TRUE(late.lock().has_value()) << "the client comes again";
    EXPECT_FALSE(late.completed());
    EXPECT_EQ(part(), "NONE");
    EXPECT_EQ(size_of("wu_0_r1_0").file_size, 8u);
    Request rest;
    rest.offset = "8", rest.data = "89";
    expect(rest, kDone, "");
    EXPECT_EQ(content(), "0123456789");
}

/// Another account's handler can't go on with a part, and begins its own.
TEST_F(HidingHandler, OnlyWhatOneHasWrittenGetsTheName) {
    upload::UploadFile mine = open();
    ASSERT_FALSE(mine.lock());
    ASSERT_FALSE(mine.put(0, "012345678"));
    std::filesystem::remove(dir / upload::part_name("wu_0_r1_0"));
    upload::UploadFile other = open();
    ASSERT_FALSE(other.lock());
    ASSERT_FALSE(other.put(0, "01"));
    EXPECT_TRUE(mine.take_name().has_value());
    EXPECT_EQ(content(), "NONE");
    EXPECT_EQ(part(), "01");
    dir.write("wu_0_r1_0", "whole");
    EXPECT_TRUE(other.take_name().has_value()) << "a file that is there already stays";
    EXPECT_EQ(content(), "whole");
}

TEST_F(HidingHandler, TheSlowerWriterLeavesACompleteFile) {
    upload::UploadFile slow = open();
    expect({}, kDone, "");
    EXPECT_FALSE(slow.lock());
    EXPECT_TRUE(slow.completed()) << "its file was completed by the other";
    std::filesystem::remove(dir / "wu_0_r1_0");
    upload::UploadFile late = open();
    std::filesystem::remove(dir / upload::part_name("wu_0_r1_0"));
    expect({}, kDone, "");
    EXPECT_FALSE(late.lock());
    EXPECT_TRUE(late.completed());
    EXPECT_EQ(content(), "0123456789");
    EXPECT_EQ(part(), "NONE");
    upload::UploadFile deleted = [&] {
        std::filesystem::remove(dir / "wu_0_r1_0");
        return open();
    }();
    std::filesystem::remove(dir / upload::part_name("wu_0_r1_0"));
    EXPECT_TRUE(deleted.lock().has_value()) << "what nobody can find is not written";
}

/// It looked when nothing was there yet; before it came to its lock, another one's file got the name.
TEST_F(HidingHandler, WhoBeganMomentTooLateLeavesNothingBehind) {
    auto late = upload::open_upload_file(dir.path(), "wu_0_r1_0", upload::UploadFile::Access::kWriteBeside, 0664);
    ASSERT_TRUE(late.file);
    std::filesystem::permissions(dir.write("wu_0_r1_0", "0123456789"), std::filesystem::perms::owner_read);
    EXPECT_FALSE(late.file->lock());
    EXPECT_TRUE(late.file->completed());
    EXPECT_EQ(part(), "NONE") << "nothing would ever delete it";
}

/// Another account began it, and made it read-only: nothing without its name is complete.
TEST_F(HidingHandler, AnUnwritablePartIsBegunAnew) {
    const auto file = dir.write(upload::part_name("wu_0_r1_0"), "0123");
    std::filesystem::permissions(file, std::filesystem::perms::owner_read);
    expect({}, kDone, "");
    EXPECT_EQ(content(), "0123456789");
    EXPECT_EQ(part(), "NONE");
}

/// A client that finds all bytes there sends none, and reports: a file that can get no name must not have them all.
TEST_F(HidingHandler, AnUnnameableFileLacksItsLastBytes) {
    const std::string text = Request().text();
    std::size_t at = 0;
    upload::BodyReader body(
        [&](char* buffer, std::size_t size, upload::Milliseconds) {
            const std::size_t before_last = text.size() - 1;
            if (at == before_last) std::filesystem::create_directory(dir / "wu_0_r1_0");  // in its way from now on
            const std::size_t n = std::min(size, (at < before_last ? before_last : text.size()) - at);
            std::memcpy(buffer, text.data() + at, n);
            at += n;
            return n;
        },
        std::nullopt);
    const Answer answer = upload::handle_upload_request(body, settings, "10.0.0.1");
    EXPECT_EQ(answer.status, kTransient);
    EXPECT_NE(answer.message.find("can't name file"), std::string::npos) << answer.message;
    EXPECT_LT(part().size(), 10u);
}

}  // namespace
}  // namespace sluice::test
