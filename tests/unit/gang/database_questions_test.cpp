// SPDX-License-Identifier: LGPL-3.0-or-later
// The thread that asks the database for the hub, with a directory that answers when the test lets it.
#include "daemons/gang_hub/database_questions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <future>

#include "sluice/base/error.h"
#include "sluice/base/log.h"

namespace sluice::test {
namespace {

class HungDirectory final : public GangDirectory {
  public:
    std::optional<GangFacts> find(const GangId& gang) override {
        std::unique_lock guard(lock_);
        ++asked_;
        changed_.notify_all();
        changed_.wait(guard, [this] { return answers_; });
        if (away) throw DbError(DbError::Kind::kLost, 2013, "it hangs");
        log_debug("asked about gang {}", gang.number);
        return GangFacts{static_cast<int>(gang.number)};
    }
    std::vector<SeatInstance> instances(const GangSeat&) override { return {}; }
    void give_up(const GangId&, std::span<const MissedMember>, bool) override {}
    void end(const GangId&) override {}

    void wait_until_asked(int times) {
        std::unique_lock guard(lock_);
        changed_.wait(guard, [&] { return asked_ >= times; });
    }
    void answer() {
        const std::lock_guard guard(lock_);
        answers_ = true;
        changed_.notify_all();
    }
    int asked() {
        const std::lock_guard guard(lock_);
        return asked_;
    }
    bool away = false;  ///< set before anything is asked

  private:
    std::mutex lock_;
    std::condition_variable changed_;
    int asked_ = 0;
    bool answers_ = false;
};

HubQuestion about(int gang) { return {.seat = {{12, gang}, 0}, .tag = "a"}; }

std::vector<HubAnswer> take_all(DatabaseQuestions& desk) {
    std::vector<HubAnswer> all;
    while (desk.waiting() > 0) {
        pollfd signal{desk.signal(), POLLIN, 0};
        ::poll(&signal, 1, -1);
        for (HubAnswer& answer : desk.take()) all.push_back(std::move(answer));
    }
    return all;
}

TEST(DatabaseQuestions, AskingNeverWaitsAndAnswersComeInOrder) {
    HungDirectory gangs;
    DatabaseQuestions desk(gangs, 100);
    desk.open();
    for (int i = 1; i <= 100; ++i) EXPECT_TRUE(desk.ask(about(i)));
    gangs.wait_until_asked(1);
    EXPECT_FALSE(desk.ask(about(101))) << "it is bounded";
    pollfd signal{desk.signal(), POLLIN, 0};
    EXPECT_EQ(::poll(&signal, 1, 0), 0);
    EXPECT_TRUE(desk.take().empty());
    gangs.answer();
    const std::vector<HubAnswer> answers = take_all(desk);
    ASSERT_EQ(answers.size(), 100u);
    for (int i = 1; i <= 100; ++i) {
        const HubAnswer& answer = answers[static_cast<std::size_t>(i) - 1];
        EXPECT_EQ(answer.question.seat.gang.number, i);
        EXPECT_EQ(answer.gang->size, i);
        EXPECT_EQ(answer.trouble, "");
    }
    EXPECT_TRUE(desk.ask(about(102))) << "there is room again";
    EXPECT_EQ(take_all(desk).size(), 1u);
}

TEST(DatabaseQuestions, WithoutADatabaseOthersDoNotWait) {
    HungDirectory gangs;
    gangs.away = true;
    DatabaseQuestions desk(gangs, 100);
    desk.open();
    desk.ask(about(1));
    gangs.wait_until_asked(1);
    for (int i = 2; i <= 20; ++i) desk.ask(about(i));
    gangs.answer();
    const std::vector<HubAnswer> answers = take_all(desk);
    EXPECT_EQ(answers.size(), 20u);
    for (const HubAnswer& answer : answers) EXPECT_THAT(answer.trouble, testing::HasSubstr("it hangs"));
    EXPECT_EQ(gangs.asked(), 1);
}

TEST(DatabaseQuestions, ItsEndDropsWhatWasNotAskedYet) {
    HungDirectory gangs;
    std::optional<DatabaseQuestions> desk(std::in_place, gangs, 100);
    desk->open();
    for (int i = 1; i <= 5; ++i) desk->ask(about(i));
    gangs.wait_until_asked(1);
    std::future<void> end = std::async(std::launch::async, [&] { desk.reset(); });
    gangs.answer();
    end.get();
    EXPECT_LE(gangs.asked(), 5);
}

TEST(DatabaseQuestions, ThatWasNeverOpenedEnds) {
    HungDirectory gangs;
    DatabaseQuestions desk(gangs, 1);
    EXPECT_TRUE(desk.ask(about(1)));
    EXPECT_FALSE(desk.ask(about(2)));
}

}  // namespace
}  // namespace sluice::test
