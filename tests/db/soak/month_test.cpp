// SPDX-License-Identifier: LGPL-3.0-or-later
// A month of a project's life: every daemon and task of a new project on, real programs, a real MariaDB, a clock that
// is moved, and volunteers that are made up. Programs and the database's server are killed at random instants. What
// every run does is one day of it. By hand, docs/soak.md:
//   SLUICE_SOAK_DAYS=30 SLUICE_SOAK_WORKUNITS=100000 SLUICE_SOAK_KILLS=200 SLUICE_SOAK_TABLE=month.tsv
//   tests/soak_month_test
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iostream>

#include "tests/db/soak/month_clients.h"
#include "tests/db/soak/month_samples.h"
#include "tests/db/soak/month_work.h"

namespace sluice::test {
namespace {

constexpr double kDay = 86400;

class Month : public testing::Test {
  protected:
    Month()
        : plan_(MonthPlan::from_environment()),
          project_(plan_),
          clients_(project_, std::clamp(plan_.workunits / plan_.days / 60, 12, 60), project_.clock().now() + 3600),
          samples_(project_),
          work_(project_, clients_),
          logs_(project_.log_folder()) {
        for (int i = 0; i < plan_.kills; ++i) kill_at_.insert(project_.draw(plan_.days * plan_.steps));
    }

    /// The clock waits for the programs: in real time they would have hours for what is left to do.
    void wait_for_programs() {
        const double patience = real_seconds() + 600;  // a machine may be busy with other things
        for (int i = 0;; ++i) {
            Sql sql("SELECT (SELECT COUNT(*) FROM workunit WHERE transition_time<");
            sql << static_cast<std::int64_t>(project_.clock().now() - 7200)
                << ")+(SELECT COUNT(*) FROM workunit WHERE need_validate=1)/4+(SELECT COUNT(*) FROM workunit WHERE "
                   "assimilate_state=1)/4+(SELECT COUNT(*) FROM workunit WHERE file_delete_state=1)/4";
            if (project_.count(sql) <= 100 + plan_.workunits / plan_.days / 10) return;
            ASSERT_LT(real_seconds(), patience) << "work is left undone";
            ::usleep(100000);
            if (i % 10 == 9) project_.cron();
        }
    }
    void step(int number, bool work) {
        const double begin = real_seconds();
        const auto part = [&] { project_.clock().advance(kDay / plan_.steps / 6); };
        if (work) {
            const int total = plan_.workunits, steps = plan_.days * plan_.steps;
            const auto until = [&](int s) { return static_cast<std::int64_t>(total) * s / steps; };
            const int n = static_cast<int>(until(number + 1) - until(number));
            work_.create_singles(number, n * 6 / 7), carry_ += n - n * 6 / 7;
            if (number % plan_.steps == plan_.steps / 2) work_.create_batch(number, std::exchange(carry_, 0));
            for (auto [at, end] = kill_at_.equal_range(number); at != end; ++at) project_.kill_one();
        }
        for (int i = 0; i < 3; ++i) part(), clients_.serve();
        // The minute that batches waits is real, hours of the clock; db_purge takes no job before the batch is over.
        if (!work) project_.end_daemon("batches");  // cron starts it anew
        project_.cron(), part();
        clients_.serve(), part(), logs_.look();
        logs_.read("printed", project_.take_printed());
        wait_for_programs(), part();
        if (number % 6 == 5) samples_.look_at_processes(), work_.look();
        if (number % plan_.steps == plan_.steps - 1) end_day(number / plan_.steps + 1);
        const double left = plan_.pause / 4 - (real_seconds() - begin);
        if (left > 0) ::usleep(static_cast<useconds_t>(left * 1e6));
    }
    void end_day(int day) {
        samples_.end_day();
        work_.note_messages();
        const auto rows = [&](const char* name) {
            const auto& today = samples_.days().back();
            return today.contains(name) ? today.at(name) : 0;
        };
        std::cout << fmt::format(
                         "day {} at {:.0f} s: {} workunits made, {:.0f} and {:.0f} rows of workunit and result, "
                         "{} requests, {} kills\n",
                         day, real_seconds() - begin_, work_.created().size(), rows("rows workunit"),
                         rows("rows result"), clients_.requests(), killed())
                  << std::flush;
        if (const char* file = std::getenv("SLUICE_SOAK_TABLE")) {
            std::ofstream(file) << samples_.table();
            std::ofstream(std::string(file) + ".svg") << samples_.charts();
        }
        for (const auto& [line, times] : logs_.unexpected())
            if (told_.insert(line).second) std::cout << "unexpected: " << line << std::endl;
    }
    int killed() const {
        int n = 0;
        for (const auto& [name, times] : project_.killed()) n += times;
        return n;
    }

    void expect_bounds();

    MonthPlan plan_;
    MonthProject project_;
    MonthClients clients_;
    MonthSamples samples_;
    MonthWork work_;
    LogWatch logs_;
    std::multiset<int> kill_at_;
    std::set<std::string> told_;
    const double begin_ = real_seconds();
    int carry_ = 0;
};

void Month::expect_bounds() {
    if (plan_.days >= 20) {
        EXPECT_THAT(samples_.growing(static_cast<std::size_t>(plan_.days)), testing::IsEmpty());
    }
    const std::vector<std::pair<std::string, double>> bounds{
        {"KB ", 150e3},
        {"open files ", 100},
        {"disk logs", 40 * 4 * plan_.log_mb * 1.5 * (1 << 20)},
        // Jobs in progress: what three days make, two for each workunit.
        {"rows sluice_plan_job", 6.0 * plan_.workunits / plan_.days + 1000}};
    for (const DaySample& day : samples_.days())
        for (const auto& [name, value] : day)
            for (const auto& [beginning, bound] : bounds)
                EXPECT_FALSE(name.starts_with(beginning) && value > bound) << name << ": " << value;
}

TEST_F(Month, EveryProgramKeepsProjectWholeAndBounded) {
    std::cout << fmt::format("{} days, {} workunits, {} hosts, {} kills, seed {}\n", plan_.days, plan_.workunits,
                             clients_.hosts().size(), plan_.kills, plan_.seed);
    const int steps = plan_.days * plan_.steps,
              most = steps + static_cast<int>((plan_.keep_days + 4 * plan_.deadline_days + 3) * plan_.steps);
    int number = 0, spared = 0;
    for (; number < most && !HasFatalFailure(); ++number) {
        if (number == steps) spared = project_.disarm();
        if (number >= steps && project_.count(Sql("SELECT COUNT(*) FROM workunit")) == 0) break;
        step(number, number < steps);
    }
    project_.stop();
    logs_.look(), samples_.end_day();
    std::cout << fmt::format("{:.1f} days, {:.0f} s\n", static_cast<double>(number) / plan_.steps,
                             real_seconds() - begin_);
    for (const auto& [name, times] : project_.killed()) std::cout << "killed " << times << " times: " << name << '\n';
    for (const auto& [fate, times] : clients_.fates())
        std::cout << "fate " << static_cast<int>(fate) << ": " << times << '\n';
    EXPECT_EQ(killed() + spared, plan_.kills);
    EXPECT_EQ(project_.count(Sql("SELECT COUNT(*) FROM workunit")), 0) << "work is left";
    EXPECT_EQ(project_.count(Sql("SELECT COUNT(*) FROM result")), 0);
    EXPECT_THAT(logs_.unexpected(), testing::IsEmpty());
    work_.expect_whole(), expect_bounds();
}

}  // namespace
}  // namespace sluice::test
