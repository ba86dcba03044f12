// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/validator/brake.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>

namespace sluice {
namespace {

using Files = OutputCheck::Files;
constexpr std::int64_t kClock = 2000000000, kDay = 86400;

FileReading look(Id result, Id whose, Files files, double at = kClock) {
    return {result, whose, kClock - 60, files, at, at, files == Files::kRead ? "" : "/upload/f: Permission denied"};
}

ReadTally tally(const std::map<Id, std::pair<int, int>>& readable_and_not_by_user, Files not_readable = Files::kShut) {
    ReadTally t;
    for (const auto& [user, n] : readable_and_not_by_user) {
        for (int i = 0; i < n.first; ++i) t.add(look(i, user, Files::kRead));
        for (int i = 0; i < n.second; ++i) t.add(look(i, user, not_readable));
    }
    return t;
}

/// Results from 1 on, of users of their own, found `files`; then a missing one, id 0 of user 0, and its answer.
struct Memory {
    ReadMemory memory;
    Id next = 1;
    Memory& found(int n, Files files, double at = kClock, std::int64_t age = 60) {
        for (int i = 0; i < n; ++i, ++next) {
            FileReading l = look(next, next, files, at);
            l.received = kClock - age;
            memory.add(l);
        }
        return *this;
    }
    bool vouches(std::int64_t age = 60) {
        FileReading asked = look(0, 0, Files::kMissing);
        asked.received = kClock - age;
        memory.add(asked);
        return memory.vouches_against(0, kClock);
    }
};

TEST(ReadMemory, MissingFileIsLostAfterOthersWereRead) {
    EXPECT_FALSE(Memory().vouches()) << "nothing else was looked at";
    EXPECT_FALSE(Memory().found(1, Files::kRead).vouches());
    EXPECT_TRUE(Memory().found(2, Files::kRead).vouches());
    EXPECT_FALSE(Memory().found(4, Files::kRead).found(4, Files::kMissing).vouches());
    EXPECT_FALSE(Memory().found(4, Files::kRead).found(4, Files::kShut).vouches());
    EXPECT_FALSE(Memory().found(2, Files::kNone).vouches()) << "results without files say nothing";
}

TEST(ReadMemory, DayLaterItNeedsThatOthersWereRead) {
    EXPECT_TRUE(Memory().found(1, Files::kRead).found(7, Files::kMissing, kClock, 2 * kDay).vouches(2 * kDay));
    for (const std::int64_t age : {kDay + 1, 30 * kDay})
        EXPECT_FALSE(Memory().found(7, Files::kMissing, kClock, age).vouches(age)) << "an outage over a weekend";
    EXPECT_FALSE(Memory().found(3, Files::kMissing, kClock, 2 * kDay).vouches(2 * kDay));
    EXPECT_TRUE(Memory().found(3, Files::kMissing, kClock, 8 * kDay).vouches(8 * kDay)) << "nobody else is there";
}

TEST(ReadMemory, EarlierReadsSayNothing) {
    EXPECT_FALSE(Memory().found(50, Files::kRead, kClock - 1).vouches());
    Memory later;
    later.memory.add(look(0, 0, Files::kMissing, kClock - 100));
    EXPECT_TRUE(later.found(50, Files::kRead, kClock - 1).vouches()) << "it was missing first";
}

TEST(ReadMemory, HoldsAWholePageOfLargeQuorums) {
    Memory m;
    m.memory.make_room(3000);
    m.memory.make_room(2);  // one workunit of the page is looked at again
    m.memory.add(look(0, 0, Files::kMissing));
    m.found(2999, Files::kRead);
    EXPECT_TRUE(m.memory.vouches_against(0, kClock)) << "the first of the page is not forgotten at its end";
    m.found(3001, Files::kRead);
    EXPECT_FALSE(m.memory.vouches_against(0, kClock)) << "memory is bounded";
}

TEST(ReadMemory, KeepsTheLastLookAtAResult) {
    Memory again;
    for (int i = 0; i < 10; ++i) again.memory.add(look(7, 7, Files::kMissing));
    EXPECT_TRUE(again.found(3, Files::kRead).vouches()) << "one result, however often it was looked at";
    Memory back;
    back.found(5, Files::kShut);
    back.next = 1;
    EXPECT_TRUE(back.found(5, Files::kRead).vouches()) << "the permission was mended";
}

TEST(ReadMemory, OneVolunteerWhoUploadsNothingHasOneVote) {
    Memory one;
    for (Id i = 1000; i < 1150; ++i) one.memory.add(look(i, 0, Files::kMissing));
    EXPECT_TRUE(one.found(5, Files::kRead).vouches());
}

TEST(Brake, HoldsWhenMostCanNotBeRead) {
    EXPECT_TRUE(tally({{1, {0, 20}}}).most_unreadable()) << "a project with one volunteer";
    EXPECT_TRUE(tally({{1, {8, 12}}}).most_unreadable());
    EXPECT_TRUE(tally({{1, {3, 4}}, {2, {3, 4}}, {3, {2, 4}}}).most_unreadable());
    EXPECT_FALSE(tally({{1, {10, 10}}}).most_unreadable());
    EXPECT_FALSE(tally({{1, {0, 4}}}).most_unreadable()) << "so few can be lost by chance";
    EXPECT_FALSE(tally({}).most_unreadable());
}

TEST(Brake, OneVolunteerWhoUploadsNothingDoesntHoldIt) {
    EXPECT_FALSE(tally({{1, {0, 150}}, {2, {10, 0}}}).most_unreadable());
    EXPECT_FALSE(tally({{1, {0, 150}}, {2, {10, 0}}, {3, {5, 1}}}).most_unreadable());
}

TEST(Brake, MissingFilesHoldBackNobodyElse) {
    EXPECT_TRUE(tally({{1, {8, 12}}}).most_shut());
    EXPECT_FALSE(tally({{1, {8, 12}}}, Files::kMissing).most_shut()) << "any client can report without files";
    EXPECT_TRUE(tally({{1, {8, 12}}}, Files::kMissing).most_unreadable());
}

TEST(Brake, NamesTheFirst) {
    EXPECT_EQ(tally({{1, {8, 12}}}).text(),
              "the files of 12 of 20 results can't be read, the first: /upload/f: Permission denied");
}

}  // namespace
}  // namespace sluice
