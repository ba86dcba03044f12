// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/sim/project.h"

#include <algorithm>
#include <cstdlib>

#include "db/memory/catalogue_store.h"
#include "db/memory/feeder_store.h"
#include "db/memory/rpc_stores.h"
#include "feeder/feeder.h"
#include "sched/handle/pipeline.h"
#include "sched/handle/shmem_job_pool.h"
#include "sched/sim/project_services.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/shmem/scheduler_array.h"

namespace sluice::sim {
namespace {

/// The job array of the simulation; it goes with it.
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

}  // namespace

/// Programs and what they work on, in the order in which they are made.
struct SimProject::Parts {
    Parts(SimProject& p, const Scenario& scenario)
        : rpc_stores(p.db_),
          feeder_store(p.db_),
          catalogue(p.db_),
          array(p.config_),
          scheduler(SchedulerArray::attach(job_array_name(p.config_.shmem_key, p.config_.project_dir))),
          pool(*scheduler),
          params(p.config_),
          limits(request_limits(p.config_)),
          env{p.clock_, p.rng_},
          feeder_settings(feeder_options(scenario.feeder, env)),
          services(p.service_world(env, files.plan_classes)),
          feeder(p.config_, feeder_settings, FeederParts{*array, feeder_store, catalogue}, env) {
        for (std::size_t u = 0; u < scenario.users.size(); ++u)
            feeder_store.quota_of[static_cast<Id>(u) + 1] = scenario.users[u].quota;
        files.code_sign_key = kSignKey;
    }

    MemoryRpcStores rpc_stores;
    MemoryFeederStore feeder_store;
    MemoryCatalogueStore catalogue;
    OwnArray array;
    std::unique_ptr<SchedulerArray> scheduler;
    ShmemJobPool pool;
    MatchParams params;
    RequestLimits limits;
    ProjectFiles files;
    Env env;
    FeederOptions feeder_settings;
    ProjectServices services;
    Feeder feeder;
    FeederTurns feeder_turns;
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
        v.plan_class = spec.threads ? "mt" : !spec.gpu ? "" : config_.compat_level > 0 ? "cuda" : "cuda_fermi";
        v.xml_doc = "<app_version><app_name>" + spec.name + "</app_name><version_num>100</version_num></app_version>";
        db_.versions.put(v.id, v);
    }
}

SchedulerReply SimProject::rpc(const SchedulerRequest& request) {
    Parts& p = *parts_;
    if (!database_away()) {
        db_.before = nullptr;
        p.feeder_turns.take([&p] { return p.feeder.turn(); }, clock_.now());
    }
    const auto tables = p.scheduler->tables();
    if (!tables) throw Error("the feeder has published no tables: " + p.feeder.trouble());
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
    parts_->services.take_turns();
}

void SimProject::start_gang_planner() { parts_->services.start_gang_planner(); }

ServiceWorld SimProject::service_world(Env env, const PlanClasses& plan_classes) {
    return {.scenario = scenario_,
            .config = config_,
            .db = db_,
            .env = env,
            .plan_classes = plan_classes,
            .wrong_results = wrong_,
            .assimilate = [this] { assimilate(); },
            .clean_up = [this] { clean_up(), purge(); },
            .expected = [this](Id batch, double time,
                               const EtaFactors& factors) { watcher_->expected(batch, time, factors); },
            .reread =
                [this] {
                    if (on_reread) on_reread();
                }};
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
