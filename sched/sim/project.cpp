#include "sched/sim/project.h"

#include <algorithm>
#include <cstdlib>

#include "daemons/batch_accel/accel_pass.h"
#include "daemons/batch_shares/shares_pass.h"
#include "daemons/batch_stats/state_file.h"
#include "daemons/batch_upkeep/upkeep_pass.h"
#include "daemons/census/hr_census.h"
#include "daemons/size_census/size_census.h"
#include "daemons/size_regulator/regulator.h"
#include "daemons/transitioner/config_params.h"
#include "daemons/transitioner/transitioner.h"
#include "daemons/validator/validator.h"
#include "db/memory/batch_store.h"
#include "db/memory/catalogue_store.h"
#include "db/memory/feeder_store.h"
#include "db/memory/hr_census_store.h"
#include "db/memory/rpc_stores.h"
#include "db/memory/share_store.h"
#include "db/memory/size_store.h"
#include "db/memory/transition_store.h"
#include "db/memory/validate_store.h"
#include "feeder/feeder.h"
#include "sched/handle/pipeline.h"
#include "sched/handle/shmem_job_pool.h"
#include "sched/sim/planner_run.h"
#include "sched/sim/project_settings.h"
#include "sched/sim/timetable.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/shmem/scheduler_array.h"

namespace sluice::sim {
namespace {

/// The job array of the run; it is gone when the run is.
class OwnArray {
  public:
    explicit OwnArray(const ProjectConfig& config) {
        JobArraySettings settings;
        settings.slots = static_cast<std::uint32_t>(config.shmem_work_items);
        array_ = FeederArray::create(job_array_name(config.shmem_key, config.project_dir), settings);
    }
    OwnArray(const OwnArray&) = delete;
    ~OwnArray() { array_->close_and_remove(); }
    FeederArray& operator*() const { return *array_; }

  private:
    std::unique_ptr<FeederArray> array_;
};

/// What is modelled, at each look.
class AtEachLook final : public Service {
  public:
    explicit AtEachLook(std::function<void()> work) : Service(0), work_(std::move(work)) {}
    Turn turn() override { return work_(), idle(); }

  private:
    std::function<void()> work_;
};

/// As in a project, and whoever wants to know hears of it.
class HeardNotices final : public Notices {
  public:
    HeardNotices(const std::filesystem::path& project, const std::function<void()>& on_reread)
        : triggers_(project), on_reread_(on_reread) {}
    void reread_tables() override {
        triggers_.reread_tables();
        if (on_reread_) on_reread_();
    }

  private:
    TriggerNotices triggers_;
    const std::function<void()>& on_reread_;
};

/// batch_shares, and batch_upkeep before each of its passes.
class BatchShares {
  public:
    BatchShares(const Scenario& scenario, const ProjectConfig& config, MemoryDb& db, const Clock& clock,
                Notices& notices)
        : options_(shares_options_of(scenario, config)),
          upkeep_(db),
          store_(db),
          clock_(clock),
          service_(options_, store_, clock, notices) {
        store_.since = clock.now();
        for (std::size_t u = 0; u < scenario.users.size(); ++u) {
            double from = 1e9;
            for (const WorkSpec& work : scenario.work)
                if (work.user == scenario.users[u].name) from = std::min(from, work.from_day);
            quotas_.push_back({clock.now() + from * kDay, static_cast<Id>(u) + 1, scenario.users[u].quota});
        }
    }
    /// A user who is not there yet has no quota: nobody's share is the smaller for him.
    void admit_users() {
        for (const Quota& q : quotas_)
            if (q.from <= clock_.now()) store_.quotas[q.user] = q.quota;
    }
    void keep_up() {
        if (service_.pass_is_due()) upkeep_pass(upkeep_, {}, clock_);
    }
    Service& service() { return service_; }

  private:
    struct Quota {
        double from;
        Id user;
        double quota;
    };
    SharesOptions options_;
    MemoryBatchUpkeepStore upkeep_;
    MemoryShareStore store_;
    const Clock& clock_;
    std::vector<Quota> quotas_;
    SharesService service_;
};

}  // namespace

/// Programs and what they work on, in the order in which they are made.
struct SimProject::Parts {
    Parts(SimProject& p, const Scenario& scenario)
        : rpc_stores(p.db_),
          feeder_store(p.db_),
          catalogue(p.db_),
          transitions(p.db_),
          validation(p.db_),
          sizes(p.db_),
          census_store(p.db_),
          hr_census(p.db_),
          stats_store(p.db_),
          ltt_store(p.db_),
          accel_store(p.db_),
          upkeep_store(p.db_),
          array(p.config_),
          scheduler(SchedulerArray::attach(job_array_name(p.config_.shmem_key, p.config_.project_dir))),
          pool(*scheduler),
          params(p.config_),
          limits(request_limits(p.config_)),
          env{p.clock_, p.rng_},
          feeder_settings(feeder_options(scenario.feeder, env)),
          templates(p.folder_.path(), p.config_.upload_url, nullptr),
          transitioner({}, transition_params(p.config_), transitions, templates, env),
          regulation(regulator_settings(scenario, p.config_)),
          regulator(regulation, sizes, p.clock_),
          stats_settings(stats_settings_of(scenario, p.config_)),
          accel_settings(accel_settings_of(scenario, p.config_)),
          stats(stats_settings, stats_store, ltt_store, p.clock_),
          accel(accel_settings, accel_store, upkeep_store, p.clock_),
          planner(scenario, p.db_, files.plan_classes, p.clock_),
          census(census_options, p.folder_.path(), p.config_.compat_level, census_store, files.plan_classes, p.clock_),
          notices(p.folder_.path(), p.on_reread),
          timetable(p.clock_) {
        for (std::size_t u = 0; u < scenario.users.size(); ++u)
            feeder_store.quota_of[static_cast<Id>(u) + 1] = scenario.users[u].quota;
        files.code_sign_key = kSignKey;
        // As an admin runs it before the first start.
        if (p.config_.hr_allocate_slots) write_hr_census(hr_census, p.folder_.path(), p.config_.compat_level);
        feeder =
            std::make_unique<Feeder>(p.config_, feeder_settings, FeederParts{*array, feeder_store, catalogue}, env);
        for (const AppSpec& app : scenario.apps) {
            auto& options = *validator_options.emplace_back(std::make_unique<ValidatorOptions>());
            options.app_name = app.name;
            options.output = [&p](const Result& r) {
                const bool wrong = p.wrong_.contains(r.name);
                return OutputCheck{OutputCheck::Kind::kGood, wrong ? r.name : "right"};
            };
            validators.push_back(std::make_unique<Validator>(options, p.config_, validation, p.clock_));
        }
        if (scenario.shares_every_minutes > 0)
            shares = std::make_unique<BatchShares>(scenario, p.config_, p.db_, p.clock_, notices);
    }
    void at_each_look(std::function<void()> work) {
        models.push_back(std::make_unique<AtEachLook>(std::move(work)));
        timetable.add_daemon(*models.back());
    }

    MemoryRpcStores rpc_stores;
    MemoryFeederStore feeder_store;
    MemoryCatalogueStore catalogue;
    MemoryTransitionStore transitions;
    MemoryValidateStore validation;
    MemorySizeRegulatorStore sizes;
    MemorySizeCensusStore census_store;
    MemoryHrCensusStore hr_census;
    MemoryBatchStatsStore stats_store;
    MemoryHostLttStore ltt_store;
    MemoryBatchAccelStore accel_store;
    MemoryBatchUpkeepStore upkeep_store;
    OwnArray array;
    std::unique_ptr<SchedulerArray> scheduler;
    ShmemJobPool pool;
    MatchParams params;
    RequestLimits limits;
    ProjectFiles files;
    Env env;
    FeederOptions feeder_settings;
    ResultTemplates templates;
    Transitioner transitioner;
    std::vector<std::unique_ptr<ValidatorOptions>> validator_options;
    std::vector<std::unique_ptr<Validator>> validators;
    RegulatorSettings regulation;
    Regulator regulator;
    StatsSettings stats_settings;
    AccelSettings accel_settings;
    StatsPass stats;
    AccelPass accel;
    PlannerRun planner;
    CensusOptions census_options;
    SizeCensus census;
    std::unique_ptr<Feeder> feeder;
    FeederTurns feeder_turns;
    double next_census = 0, next_acceleration = 0;
    HeardNotices notices;
    std::unique_ptr<BatchShares> shares;  ///< null: the scenario has no batch_shares
    std::vector<std::unique_ptr<AtEachLook>> models;
    Timetable timetable;
};

void FeederTurns::take(const std::function<double()>& turn, double now) {
    constexpr double kMostTurns = 20;
    if (now < next_) return;
    const int turns = static_cast<int>(std::min(1 + (now - next_) / Feeder::kWalkWait, kMostTurns));
    double wait = turn();
    for (int made = 1; made < turns && wait <= Feeder::kWalkWait; ++made) wait = turn();
    next_ = now + wait;
}

OwnFolder::OwnFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "sluice_sim_XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw FileError("can't make a folder in " + pattern);
    path_ = pattern;
}

OwnFolder::~OwnFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

SimProject::SimProject(const Scenario& scenario, VirtualClock& clock, Rng& rng)
    : scenario_(scenario), clock_(clock), rng_(rng), log_level_before_(log_level()) {
    // Programs would tell of each job; and what they think wrong (a report that comes after its job is deleted) is an
    // everyday thing here.
    log_set_level(LogLevel{0});
    config_ = make_config(scenario, folder_.path());
    make_rows(scenario);
    write_file_atomically(folder_.path() / "out", kOutputTemplate);
    parts_ = std::make_unique<Parts>(*this, scenario);
    make_timetable();
}

SimProject::~SimProject() {
    parts_.reset();
    log_set_level(log_level_before_);
}

void SimProject::database_away_until(double time) {
    away_until_ = time;
    db_.before = [](const std::string&) { throw DbError(DbError::Kind::kLost, 2002, "the database is away"); };
}

bool SimProject::database_away() const { return clock_.now() < away_until_; }

void SimProject::make_rows(const Scenario& scenario) {
    for (const std::string& name : scenario.platforms) {
        const Id id = db_.platforms.next_key();
        db_.platforms.put(id, {id, name, name, false});
    }
    for (std::size_t i = 0; i < scenario.apps.size(); ++i) {
        make_app(static_cast<Id>(i) + 1, scenario.apps[i]);
    }
    for (std::size_t i = 0; i < scenario.users.size(); ++i) {
        User user;
        user.id = static_cast<Id>(i) + 1;
        user.create_time = clock_.now_sec();
        user.name = scenario.users[i].name;
        user.authenticator = user.email_addr = "submitter" + std::to_string(i);
        db_.users.put(user.id, user);
    }
}

std::string SimProject::add_volunteer(std::uint64_t host) {
    User volunteer;
    volunteer.id = db_.users.next_key();
    volunteer.name = "volunteer" + std::to_string(host);
    volunteer.email_addr = volunteer.name + "@sim";
    volunteer.authenticator = volunteer.cross_project_id = volunteer.name;
    volunteer.create_time = clock_.now_sec();
    db_.users.put(volunteer.id, volunteer);
    return volunteer.authenticator;
}

/// With a version for each platform.
void SimProject::make_app(Id id, const AppSpec& spec) {
    App app;
    app.id = id;
    app.name = app.user_friendly_name = spec.name;
    app.n_size_classes = spec.size_classes;
    app.locality_scheduling = spec.locality;
    app.homogeneous_redundancy = static_cast<HrType>(spec.homogeneous_redundancy);
    app.homogeneous_app_version = spec.homogeneous_app_version;
    db_.apps.put(app.id, app);
    for (const auto& [platform, row] : db_.platforms.rows()) {
        AppVersion v;
        v.id = db_.versions.next_key();
        v.appid = app.id;
        v.platformid = platform;
        v.version_num = 100;
        // Upstream's class cuda ends below compute capability 2.0.
        v.plan_class = !spec.gpu ? "" : config_.compat_level > 0 ? "cuda" : "cuda_fermi";
        v.xml_doc = "<app_version><app_name>" + spec.name + "</app_name><version_num>100</version_num></app_version>";
        db_.versions.put(v.id, v);
    }
}

SchedulerReply SimProject::rpc(const SchedulerRequest& request) {
    Parts& p = *parts_;
    if (!database_away()) {
        db_.before = nullptr;
        p.feeder_turns.take([&p] { return p.feeder->turn(); }, clock_.now());
    }
    const auto tables = p.scheduler->tables();
    if (!tables) throw Error("the feeder has published no tables: " + p.feeder->trouble());
    RpcServices services{config_, p.files, p.params, *tables, p.pool, p.rpc_stores.stores(), p.env, p.limits};
    services.log = RpcLog(log_line);
    services.remote_address = "127.0.0.1";
    const std::uint64_t before = db_.verbs;
    SchedulerReply reply = handle_request(services, request);
    rpc_verbs_ += db_.verbs - before;
    return reply;
}

void SimProject::run_daemons(JobWatcher& watcher) {
    if (database_away()) return;
    db_.before = nullptr;
    watcher_ = &watcher;
    parts_->timetable.take_turns();
}

void SimProject::make_timetable() {
    Parts& p = *parts_;
    p.at_each_look([this, &p] {
        const auto& queue = db_.workunits.index().due;
        if (!queue.empty() && queue.begin()->first < clock_.now_sec()) p.transitioner.pass();
    });
    p.at_each_look([this, &p] {
        if (db_.workunits.index().to_validate.empty()) return;
        for (const auto& validator : p.validators) validator->pass();
    });
    p.at_each_look([this] { assimilate(); });
    p.at_each_look([&p] {
        if (!p.regulation.apps.empty() && p.regulator.due()) p.regulator.pass();
    });
    p.at_each_look([this] { take_census(clock_.now()); });
    p.at_each_look([this] { accelerate(clock_.now()); });
    if (BatchShares* shares = p.shares.get()) {
        p.at_each_look([shares] { shares->admit_users(), shares->keep_up(); });
        p.timetable.add_daemon(shares->service());
    }
    p.at_each_look([this, &p] {
        // As the program does: the feeder of level 1 looks by itself.
        const auto [planned, of_news] = p.planner.turn(*watcher_);
        if (planned && (of_news || config_.compat_level == 0)) p.notices.reread_tables();
    });
    p.at_each_look([this] { clean_up(); });
    p.at_each_look([this] { purge(); });
}

void SimProject::accelerate(double now) {
    Parts& p = *parts_;
    if (scenario_.accel_every_hours <= 0 || now < p.next_acceleration) return;
    p.next_acceleration = now + 3600 * scenario_.accel_every_hours;
    p.stats.run();
    std::string why;
    if (const auto known = StateReader::open(p.stats_settings.state_file, why))
        p.accel_settings.verdicts = known->summary().apps;
    p.accel.run();
}

void SimProject::take_census(double now) {
    if (now < parts_->next_census) return;
    parts_->next_census = now + 3600 * scenario_.census_every_hours;
    const bool sizes = std::any_of(scenario_.apps.begin(), scenario_.apps.end(),
                                   [](const AppSpec& app) { return app.size_classes > 1; });
    if (sizes) parts_->census.run();
    if (config_.hr_allocate_slots) write_hr_census(parts_->hr_census, folder_.path(), config_.compat_level);
}

/// An assimilator that takes everything.
void SimProject::assimilate() {
    std::vector<Id> ready;
    for (const auto& [app, ids] : db_.workunits.index().to_assimilate)
        ready.insert(ready.end(), ids.begin(), ids.end());
    for (const Id id : ready) {
        watcher_->decided(*db_.workunits.get(id));
        db_.workunits.change(id, [this](Workunit& w) {
            w.assimilate_state = AssimilateState::kDone;
            w.transition_time = clock_.now_sec();
        });
    }
}

/// The file deleter; db_purge, too, where nothing is kept.
void SimProject::clean_up() {
    std::vector<Id> ready(db_.workunits.index().to_delete.begin(), db_.workunits.index().to_delete.end());
    for (const Id id : ready) {
        const Workunit wu = *db_.workunits.get(id);
        const std::vector<Id> ids = db_.results.index().instances(id);
        std::vector<const Result*> results;
        bool over = true;
        for (const Id r : ids) {
            results.push_back(db_.results.get(r));
            over &= results.back()->server_state == ServerState::kOver;
        }
        if (!over) continue;
        watcher_->over({wu, results});
        for (const Result* r : results) wrong_.erase(r->name);
        if (scenario_.keep_days <= 0) {
            remove(id);
            continue;
        }
        db_.workunits.change(id, [](Workunit& w) { w.file_delete_state = FileDeleteState::kDone; });
        to_purge_.emplace_back(clock_.now(), id);
    }
}

void SimProject::close(JobWatcher& watcher) {
    for (const auto& [id, wu] : db_.workunits.rows()) {
        if (wu.assimilate_state != AssimilateState::kDone || wu.file_delete_state == FileDeleteState::kDone) continue;
        std::vector<const Result*> results;
        for (const Id r : db_.results.index().instances(id)) results.push_back(db_.results.get(r));
        watcher.over({wu, results});
    }
}

void SimProject::remove(Id workunit) {
    const std::vector<Id> results = db_.results.index().instances(workunit);
    for (const Id r : results) db_.results.remove(r);
    db_.workunits.remove(workunit);
}

/// db_purge: batches are measured and accelerated by what became of their jobs, which stay until the batch is over.
void SimProject::purge() {
    const double now = clock_.now();
    while (!to_purge_.empty() && to_purge_.front().first + scenario_.keep_days * kDay <= now) {
        const Id id = to_purge_.front().second;
        to_purge_.pop_front();
        const Batch* batch = db_.batches.get(db_.workunits.get(id)->batch);
        if (batch != nullptr && batch->state == BatchState::kInProgress)
            to_purge_.emplace_back(now, id);
        else
            remove(id);
    }
}

}  // namespace sluice::sim
