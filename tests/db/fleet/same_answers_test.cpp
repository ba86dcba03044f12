// SPDX-License-Identifier: LGPL-3.0-or-later
// A small run of the simulator, and beside it the programs' real parts on a real MariaDB, which get the same jobs,
// looks and requests at the same virtual times: the assignments (host -> job names) are the same, and so are the rows.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "daemons/transitioner/config_params.h"
#include "daemons/transitioner/transitioner.h"
#include "daemons/validator/validator.h"
#include "feeder/feeder.h"
#include "sched/handle/pipeline.h"
#include "sched/handle/shmem_job_pool.h"
#include "sched/sim/client.h"
#include "sched/sim/fleet.h"
#include "sched/sim/population.h"
#include "sched/sim/project.h"
#include "sched/sim/project_services.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/db/mysql_rpc_stores.h"
#include "sluice/shmem/scheduler_array.h"
#include "tests/support/database_rows.h"
#include "tests/support/private_mariadb.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

using sim::Scenario, sim::WorkSpec;

/// feeder, transitioner, validator and scheduler over the stores of a MariaDB. What the simulator only models (the
/// assimilator that takes everything, file_deleter and db_purge in one) is SQL here.
class RealProject {
  public:
    RealProject(const Scenario& scenario, std::uint64_t seed, const std::string& output_template)
        : db_(database()), clock_(sim::kStart), rng_(seed, sim::kServerPurpose, 0), env_{clock_, rng_} {
        config_ = sim::make_config(scenario, folder_.path());
        folder_.write("out", output_template);
        feeder_options_ = sim::feeder_options(scenario.feeder, env_);
        files_.code_sign_key = sim::kSignKey;
    }
    void start(const MemoryDb& rows) {
        truncate_all_tables(db_);
        store_rows(db_, FakeDb(rows));
        const JobArrayName name = job_array_name(config_.shmem_key, config_.project_dir);
        JobArraySettings settings;
        settings.slots = static_cast<std::uint32_t>(config_.shmem_work_items);
        array_ = FeederArray::create(name, settings);
        scheduler_ = SchedulerArray::attach(name);
        pool_ = std::make_unique<ShmemJobPool>(*scheduler_);
        feeder_ =
            std::make_unique<Feeder>(config_, feeder_options_, FeederParts{*array_, *feeder_store_, *catalogue_}, env_);
        params_ = config_;
        for (const auto& [id, app] : rows.apps.rows()) {
            auto& options = *validator_options_.emplace_back(std::make_unique<ValidatorOptions>());
            options.app_name = app.name;
            options.output = [](const Result&) { return OutputCheck{OutputCheck::Kind::kGood, "right"}; };
            validators_.push_back(std::make_unique<Validator>(options, config_, *validate_store_, clock_));
        }
        templates_ = std::make_unique<ResultTemplates>(folder_.path(), config_.upload_url, nullptr);
        transitioner_ = std::make_unique<Transitioner>(TransitionerOptions{}, transition_params(config_),
                                                       *transition_store_, *templates_, env_);
    }
    ~RealProject() {
        feeder_.reset(), pool_.reset(), scheduler_.reset();
        if (array_) array_->close_and_remove();
    }

    void submit(const Workunit& workunit) {
        FakeDb one;
        one.workunits[workunit.id] = workunit;
        store_rows(db_, one);
    }
    void run_daemons(double now) {
        clock_.set(now);
        transitioner_->pass();
        for (const auto& validator : validators_) validator->pass();
        Sql assimilate("UPDATE workunit SET assimilate_state=2, transition_time=");
        db_.execute(assimilate << clock_.now_sec() << " WHERE assimilate_state=1");
        const Sql over(
            "SELECT w.id FROM workunit w WHERE w.file_delete_state=1 AND NOT EXISTS "
            "(SELECT 1 FROM result r WHERE r.workunitid=w.id AND r.server_state<>5)");
        std::vector<Id> ids;
        for (const auto& row : sluice::test::rows_of(db_, over, 1)) ids.push_back(std::stoll(row[0]));
        if (ids.empty()) return;
        Sql results("DELETE FROM result WHERE workunitid IN ("), workunits("DELETE FROM workunit WHERE id IN (");
        db_.execute(results.ids(ids) << ")");
        db_.execute(workunits.ids(ids) << ")");
    }
    SchedulerReply answer(double now, const SchedulerRequest& request) {
        clock_.set(now);
        turns_.take([&] { return feeder_->turn(); }, now);
        const auto tables = scheduler_->tables();
        RpcServices services{config_, files_,           params_, *tables,
                             *pool_,  stores_.stores(), env_,    request_limits(config_)};
        services.remote_address = "127.0.0.1";
        return handle_request(services, request);
    }
    FakeDb rows() { return load_rows(db_); }

  private:
    static DbSettings database() {
        static const DbSettings made = PrivateMariaDb::shared().create_project_database("same_answers");
        return made;
    }

    TempDir folder_;
    Database db_;
    sim::VirtualClock clock_;
    sim::SmallRng rng_;
    Env env_;
    ProjectConfig config_;
    FeederOptions feeder_options_;
    ProjectFiles files_;
    MatchParams params_;
    std::unique_ptr<FeederStore> feeder_store_ = make_feeder_store(db_);
    std::unique_ptr<CatalogueStore> catalogue_ = make_catalogue_store(db_);
    std::unique_ptr<TransitionStore> transition_store_ = make_transition_store(db_);
    std::unique_ptr<ValidateStore> validate_store_ = make_validate_store(db_);
    MysqlRpcStores stores_{db_};
    std::unique_ptr<FeederArray> array_;
    std::unique_ptr<SchedulerArray> scheduler_;
    std::unique_ptr<ShmemJobPool> pool_;
    std::unique_ptr<Feeder> feeder_;
    sim::FeederTurns turns_;
    std::vector<std::unique_ptr<ValidatorOptions>> validator_options_;
    std::vector<std::unique_ptr<Validator>> validators_;
    std::unique_ptr<ResultTemplates> templates_;
    std::unique_ptr<Transitioner> transitioner_;
};

std::string assignments(const SchedulerReply& reply) {
    std::string all = fmt::format("host {} ({:.0f} s):", reply.host.id, reply.request_delay);
    for (const ReplyJob& job : reply.jobs)
        all += fmt::format(" {} v{} until {}", job.result_name, job.app_version != nullptr ? job.app_version->id : 0,
                           job.report_deadline);
    for (const std::string& name : reply.result_acks) all += " ack " + name;
    for (const std::string& name : reply.result_aborts) all += " abort " + name;
    return all;
}

std::string states(const FakeDb& db) {
    std::string all;
    for (const auto& [id, w] : db.workunits)
        all += fmt::format("{} canonical {} transition {} error {} hr {}\n", w.name, w.canonical_resultid,
                           w.transition_time, w.error_mask, w.hr_class);
    for (const auto& [id, r] : db.results)
        all += fmt::format("{} state {} outcome {} validate {} host {} received {} credit {:.9g}\n", r.name,
                           static_cast<int>(r.server_state), static_cast<int>(r.outcome),
                           static_cast<int>(r.validate_state), r.hostid, r.received_time, r.granted_credit);
    for (const auto& [id, h] : db.hosts)
        all += fmt::format("host {} seqno {} credit {:.9g} turnaround {:.9g}\n", id, h.rpc_seqno, h.total_credit,
                           h.avg_turnaround);
    return all;
}

/// Twelve hosts of unequal speed, half of which fail now and then, for two hours: jobs of two users and sizes, quorum
/// two and homogeneous redundancy among them, late ones and lost replies.
Scenario small() {
    Scenario s;
    s.name = "small";
    s.feeder = "--allapps";  // which apps of different kinds of redundancy need at level 0
    s.days = 1.0 / 12;
    s.fleet.hosts = 12;
    s.fleet.lifetime_days = 0, s.fleet.always_on = 1, s.fleet.daily = 0;
    s.fleet.buffer_factor = 0.02;
    s.fleet.bad_hosts = 0.5, s.fleet.lost_rate = 0.05;
    s.apps.push_back({});
    s.apps.push_back({"same", 0, 2, false});
    s.users.push_back({"alice", 1});
    s.users.push_back({"bob", 1});
    WorkSpec w;
    w.user = "alice", w.keep = 30, w.size_hours = {0.2}, w.delay_bound_days = 0.1;
    s.work.push_back(w);
    w.user = "bob", w.app = "same", w.keep = 10, w.size_hours = {0.1, 0.4}, w.quorum = 2, w.delay_bound_days = 1;
    s.work.push_back(w);
    s.config_xml = "<shmem_work_items>40</shmem_work_items><resend_lost_results>1</resend_lost_results>";
    return s;
}

class SameAnswers : public testing::TestWithParam<int> {};

TEST_P(SameAnswers, OnMariaDbAsInTheSimulator) {
    Scenario scenario = small();
    scenario.compat_level = GetParam();
    constexpr std::uint64_t kSeed = 7;
    log_set_level(LogLevel{0});
    RealProject real(scenario, kSeed, sim::kOutputTemplate);
    const MemoryDb* simulated = nullptr;
    std::size_t jobs = 0, answers = 0;
    double compared = sim::kStart, seconds = 0;
    sim::SimulationWatcher watcher;
    watcher.starts = [&](const MemoryDb& rows) { real.start(*(simulated = &rows)); };
    watcher.submitted = [&](const Workunit& workunit) { real.submit(workunit); };
    watcher.looked = [&](double now) {
        if (testing::Test::HasFailure()) return;
        real.run_daemons(now);
        if (now < compared + sim::kHour / 2) return;
        compared = now;
        EXPECT_EQ(states(FakeDb(*simulated)), states(real.rows())) << "at " << now - sim::kStart;
    };
    watcher.answered = [&](double now, const SchedulerRequest& request, const SchedulerReply& reply) {
        if (testing::Test::HasFailure()) return;
        ++answers, jobs += reply.jobs.size();
        const double before = SystemClock().now();
        const SchedulerReply on_mariadb = real.answer(now, request);
        seconds += SystemClock().now() - before;
        EXPECT_EQ(assignments(reply), assignments(on_mariadb)) << "request " << answers << ", at " << now - sim::kStart;
    };
    const sim::FleetResult result = simulate_fleet(scenario, {.seed = kSeed, .watcher = &watcher});
    RecordProperty("us_per_request_on_mariadb", std::to_string(1e6 * seconds / static_cast<double>(answers)));
    EXPECT_GT(answers, 50u);
    EXPECT_GT(jobs, 100u);
    EXPECT_GT(result.jobs_done, 50);
    EXPECT_GT(compared, sim::kStart + 1.4 * sim::kHour);
}

INSTANTIATE_TEST_SUITE_P(CompatLevel, SameAnswers, testing::Values(0, 1));

}  // namespace
}  // namespace sluice::test
