// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/base/life_sign.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "sluice/base/process.h"
#include "sluice/base/project.h"
#include "tests/support/fake_clock.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

class LifeSigns : public testing::Test {
  protected:
    LifeSigns() { fs::create_directory(folder()); }
    fs::path folder() const { return project_.path() / ("pid_" + short_host_name()); }
    TempDir project_;
    FakeClock clock_{1000};
};

TEST_F(LifeSigns, TellOfTurnsAndErrors) {
    LifeSignWriter writer(project_.path(), "feeder", clock_);
    ASSERT_EQ(life_signs(project_.path()).size(), 1u);
    EXPECT_EQ(life_signs(project_.path())[0].ended, 0) << "no turn is over yet";
    clock_.set(1010);
    writer.begin_turn();
    EXPECT_EQ(life_signs(project_.path())[0].began, 1010);
    writer.end_turn(5);
    LifeSign sign = life_signs(project_.path()).at(0);
    EXPECT_EQ(sign.name, "feeder");
    EXPECT_EQ(sign.pid, ::getpid());
    EXPECT_EQ(sign.began, 0);
    EXPECT_EQ(sign.ended, 1010);
    EXPECT_EQ(sign.due, 1015);
    clock_.set(1020);
    writer.fail_turn("no table\nhere", 5);
    clock_.set(1030);
    writer.fail_turn(std::string(5000, 'x'), 5);
    sign = life_signs(project_.path()).at(0);
    EXPECT_EQ(sign.failing, 1020) << "since the first of the turns that fail";
    EXPECT_LE(sign.error.size(), 510u);
    clock_.set(1040);
    writer.end_turn(5);
    EXPECT_EQ(life_signs(project_.path()).at(0).failing, 0);
}

TEST_F(LifeSigns, AreWrittenRarelyByOneWhoIsBusy) {
    LifeSignWriter writer(project_.path(), "transitioner", clock_);
    writer.end_turn(0);
    clock_.set(1001);
    writer.begin_turn();
    writer.end_turn(0);
    EXPECT_EQ(life_signs(project_.path()).at(0).ended, 1000);
    clock_.set(1002.5);
    writer.begin_turn();
    EXPECT_EQ(life_signs(project_.path()).at(0).ended, 1001);
}

/// Its turn of an hour must not look like a daemon that sleeps on.
TEST_F(LifeSigns, TellOfAWorkerAtOnce) {
    LifeSignWriter writer(project_.path(), "census", clock_);
    for (const double wait : {0.0, 1.0, 60.0}) {
        clock_.set(clock_.now() + 100);
        writer.begin_turn();
        writer.end_turn(wait);
        clock_.set(clock_.now() + 0.5);
        writer.begin_turn();
        const LifeSign sign = life_signs(project_.path()).at(0);
        EXPECT_NEAR(sign.began, clock_.now(), 0.5) << wait;
    }
    writer.fail_turn("no table", 1);
    clock_.set(clock_.now() + 1);
    writer.begin_turn();
    EXPECT_EQ(life_signs(project_.path()).at(0).began, clock_.now());
}

TEST_F(LifeSigns, ALaterProcessOfThatNumberIsAnother) {
    LifeSign sign;
    sign.name = "feeder";
    sign.pid = ::getpid();
    sign.start_ticks = this_process().start_ticks;
    const auto write = [&] { std::ofstream(folder() / "feeder.1.life") << life_sign_text(sign); };
    write();
    EXPECT_EQ(life_signs(project_.path()).size(), 1u);
    ++sign.start_ticks;
    write();
    EXPECT_TRUE(life_signs(project_.path()).empty());
}

TEST_F(LifeSigns, GoWithTheirProcess) {
    const fs::path of_the_dead = folder() / "feeder.999999999.life", of_another = folder() / "census.999999999.life";
    for (const fs::path& file : {of_the_dead, of_another}) std::ofstream(file) << "name feeder\npid 999999999\n";
    std::ofstream(folder() / "strange.life") << "name \xff\npid -1e300\ndue nan\n" << std::string(100000, '\n');
    EXPECT_TRUE(life_signs(project_.path()).empty());
    {
        LifeSignWriter writer(project_.path(), "feeder", clock_);
        EXPECT_FALSE(fs::exists(of_the_dead)) << "its successor takes it away";
        EXPECT_TRUE(fs::exists(of_another));
        EXPECT_EQ(life_signs(project_.path()).size(), 1u);
    }
    EXPECT_TRUE(life_signs(project_.path()).empty());
}

TEST_F(LifeSigns, NobodyNeedsTheFolder) {
    fs::remove_all(folder());
    LifeSignWriter writer(project_.path(), "feeder", clock_), nothing;
    for (LifeSignWriter* each : {&writer, &nothing}) each->begin_turn(), each->end_turn(1), each->fail_turn("x", 1);
    EXPECT_TRUE(life_signs(project_.path()).empty());
}

}  // namespace
}  // namespace sluice::test
