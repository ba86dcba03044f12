// SPDX-License-Identifier: LGPL-3.0-or-later
// Who has a turn at which look.
#include "sched/sim/timetable.h"

#include <gtest/gtest.h>

#include "sluice/base/error.h"
#include "tests/support/fake_clock.h"

namespace sluice::sim {
namespace {

struct Recorded final : Service {
    explicit Recorded(Turn what) : Service(0), left(what) {}
    Turn turn() override { return ++turns, left; }
    Turn left;
    int turns = 0;
};

class TimetableTest : public testing::Test {
  protected:
    /// Turns in a minute of looks, each five seconds.
    int turns_of(Recorded& service) {
        for (int look = 0; look < 12; ++look, clock.advance(5)) table.take_turns();
        return service.turns;
    }
    test::FakeClock clock;
    Timetable table{clock};
};

TEST_F(TimetableTest, DaemonComesAgainWhenItsWaitIsOver) {
    Recorded daemon({TurnResult::kIdle, 20});
    table.add_daemon(daemon);
    EXPECT_EQ(turns_of(daemon), 3);
}

TEST_F(TimetableTest, OneWithMoreToDoComesEachTime) {
    Recorded daemon({TurnResult::kWorked});
    table.add_daemon(daemon);
    EXPECT_EQ(turns_of(daemon), 12);
}

TEST_F(TimetableTest, OneThatHasEndedDoesNotComeAgain) {
    Recorded daemon({TurnResult::kFinished});
    table.add_daemon(daemon);
    EXPECT_EQ(turns_of(daemon), 1);
}

TEST_F(TimetableTest, OneThatGivesUpEndsTheRun) {
    Recorded daemon({TurnResult::kFailed});
    table.add_daemon(daemon);
    EXPECT_THROW(table.take_turns(), Error);
}

TEST_F(TimetableTest, CronStartsATaskWhateverItLeaves) {
    for (const TurnResult left : {TurnResult::kIdle, TurnResult::kFinished, TurnResult::kFailed}) {
        Recorded task({left, 7});
        Timetable cron(clock);
        cron.add_task(task, 30);
        for (int look = 0; look < 12; ++look, clock.advance(5)) cron.take_turns();
        EXPECT_EQ(task.turns, 2);
    }
}

TEST_F(TimetableTest, AHelperComesWhenAnotherWantsIt) {
    Recorded helper({TurnResult::kIdle, 1000});
    int asked = 0;
    table.add_helper(helper, [&] { return ++asked % 4 == 0; });
    EXPECT_EQ(turns_of(helper), 3);
}

}  // namespace
}  // namespace sluice::sim
