#include "daemons/validator/brake.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

ReadTally tally(const std::map<Id, std::pair<int, int>>& readable_and_not_by_user) {
    ReadTally t;
    for (const auto& [user, n] : readable_and_not_by_user) {
        for (int i = 0; i < n.first; ++i) t.add(user, "");
        for (int i = 0; i < n.second; ++i) t.add(user, "/upload/f: Permission denied");
    }
    return t;
}

TEST(Brake, HoldsWhenMostCanNotBeRead) {
    EXPECT_TRUE(tally({{1, {0, 20}}}).most_unreadable()) << "a project with one volunteer";
    EXPECT_TRUE(tally({{1, {8, 12}}}).most_unreadable());
    EXPECT_TRUE(tally({{1, {3, 4}}, {2, {3, 4}}, {3, {2, 4}}}).most_unreadable());
    EXPECT_FALSE(tally({{1, {10, 10}}}).most_unreadable());
    EXPECT_FALSE(tally({{1, {0, 4}}}).most_unreadable()) << "so few can be lost by chance";
    EXPECT_FALSE(tally({}).most_unreadable());
}

TEST(Brake, OneVolunteerWhoUploadsNothingDoesNotHoldIt) {
    EXPECT_FALSE(tally({{1, {0, 150}}, {2, {10, 0}}}).most_unreadable());
    EXPECT_FALSE(tally({{1, {0, 150}}, {2, {10, 0}}, {3, {5, 1}}}).most_unreadable());
}

TEST(Brake, NamesTheFirst) {
    EXPECT_EQ(tally({{1, {8, 12}}}).text(),
              "the files of 12 of 20 results can't be read, the first: /upload/f: Permission denied");
}

}  // namespace
}  // namespace sluice
