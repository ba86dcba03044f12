// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/sim/project_services.h"

#include <algorithm>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "config/load.h"
#include "daemons/batches/acceleration.h"
#include "daemons/batches/gangs.h"
#include "daemons/batches/planner.h"
#include "daemons/batches/shares.h"
#include "daemons/batches/turnaround.h"
#include "daemons/batches/turnaround_options.h"
#include "daemons/batches/upkeep.h"
#include "daemons/census/hr_census.h"
#include "daemons/size_census/size_census.h"
#include "daemons/size_regulator/regulator.h"
#include "daemons/transitioner/config_params.h"
#include "daemons/transitioner/transitioner.h"
#include "daemons/validator/validator.h"
#include "db/memory/batch_plan_store.h"
#include "db/memory/batch_store.h"
#include "db/memory/gang_store.h"
#include "db/memory/hr_census_store.h"
#include "db/memory/share_store.h"
#include "db/memory/size_store.h"
#include "db/memory/transition_store.h"
#include "db/memory/validate_store.h"
#include "feeder/command.h"
#include "sched/sim/timetable.h"
#include "sluice/base/error.h"
#include "sluice/base/log.h"
#include "sluice/base/text.h"
#include "sluice/daemon/program.h"

namespace sluice::sim {
namespace {

/// What config.xml would say. A wrong value would be a what-if that changes nothing, so it is refused, in a project's
/// own file, too. Unknown options are only named there.
ProjectConfig read_config(const Scenario& scenario) {
    if (!scenario.config_name.empty()) {
        const LoadedConfig loaded = parse_config(scenario.config_file, scenario.config_name);
        if (!loaded.errors.empty()) throw ConfigError(loaded.errors.front());
        for (const std::string& warning : loaded.warnings) log_critical("{}", warning);
        return loaded.config;
    }
    const LoadedConfig loaded = parse_config("<boinc><config><compat_level>" + std::to_string(scenario.compat_level) +
                                                 "</compat_level>" + scenario.config_xml + "</config></boinc>",
                                             "config of " + scenario.name);
    if (!loaded.errors.empty()) throw ConfigError(loaded.errors.front());
    if (!loaded.warnings.empty()) throw ConfigError(loaded.warnings.front());
    return loaded.config;
}

}  // namespace

ProjectConfig make_config(const Scenario& scenario, const std::filesystem::path& folder) {
    ProjectConfig config = read_config(scenario);
    config.project_dir = folder.string();
    config.key_dir = (folder / "keys").string();
    config.upload_dir = (folder / "upload").string();
    config.master_url = "http://sim/";
    config.upload_url = "http://sim/upload";
    config.shmem_key = 1;
    config.sched_lockfile_dir.clear();
    config.decision_log = DecisionLog::kOff;
    config.dont_generate_upload_certificates = true;
    if (config.shmem_work_items <= 0) config.shmem_work_items = 100;
    return config;
}

FeederOptions feeder_options(const std::string& command, Env env) {
    std::istringstream words("feeder " + command);
    std::vector<std::string> list;
    for (std::string word; words >> word;) list.push_back(word);
    std::vector<const char*> argv;  // the last option of an order counts: feeder_program() looks itself
    for (const std::string& word : list) argv.push_back(word.c_str());
    FeederOptions options;
    const DaemonProgram program = feeder_program(static_cast<int>(argv.size()), argv.data(), options);
    CommandLine line("feeder", program.summary);
    program.options(line);
    DaemonStart start{program.settings, {}, false, env};
    std::string wrong = line.take(command);
    if (wrong.empty()) wrong = program.check(start);
    if (!wrong.empty()) throw ConfigError("feeder '" + command + "': " + wrong);
    return options;
}

namespace {

template <typename Options>
Options options_of(const char* program, const std::string& command) {
    Options options;
    CommandLine line(program, "");
    options.define(line);
    std::string wrong = line.take(command);
    if (wrong.empty()) wrong = options.check();
    if (!wrong.empty()) throw ConfigError(program + (" '" + command) + "': " + wrong);
    return options;
}

}  // namespace

StatsSettings stats_settings_of(const Scenario& scenario, const ProjectConfig& config) {
    StatsSettings settings = stats_settings(
        config, options_of<StatsOptions>("batch_stats", scenario.stats_options).rules(config.compat_level));
    settings.cheap_full =
        0;  // on a virtual clock a pass takes no time: what is known is built on, as in a large project
    return settings;
}

AccelOptions accel_options_of(const Scenario& scenario) {
    return options_of<AccelOptions>("batch_accel", scenario.accel_options);
}

PlannerSettings planner_settings_of(const Scenario& scenario, const ProjectConfig& config) {
    PlannerSettings settings;
    settings.rules.margin = scenario.planner_margin;
    settings.rules.horizon = scenario.planner_horizon_hours * kHour;
    settings.give_up = true;
    take_config(settings, config);
    settings.copies = scenario.planner_copies;
    settings.every = 60 * scenario.planner_every_minutes;
    return settings;
}

SharesOptions shares_options_of(const Scenario& scenario, const ProjectConfig& config) {
    const auto rules = share_settings(config);
    if (!rules) throw ConfigError("batch_shares: <share_rule> is off: set it to settled or seed");
    SharesOptions options{60 * scenario.shares_every_minutes, *rules, config.compat_level};
    if (config.gives_an_owner_to_jobs_without_batch())
        options.rules.owner_without_batch = parse_int(config.jobs_without_batch).value_or(0);
    return options;
}

RegulatorSettings regulator_settings(const Scenario& scenario, const ProjectConfig& config) {
    RegulatorSettings settings;
    take_shares(config, settings);
    if (scenario.regulator_high <= 0) return settings;
    for (const AppSpec& app : scenario.apps)
        if (app.size_classes > 1)
            settings.apps.push_back({app.name,
                                     {static_cast<std::int64_t>(scenario.regulator_low),
                                      static_cast<std::int64_t>(scenario.regulator_high)},
                                     scenario.regulator_sleep,
                                     ReleaseOrder::kNone});
    return settings;
}

namespace {

/// What is modelled.
class Model final : public Service {
  public:
    explicit Model(std::function<void()> work) : Service(0), work_(std::move(work)) {}
    Turn turn() override { return work_(), idle(); }

  private:
    std::function<void()> work_;
};

/// The trigger file, as in a project, and whoever wants to know.
class ObservedNotices final : public Notices {
  public:
    explicit ObservedNotices(const ServiceWorld& world) : triggers_(world.config.project_dir), world_(world) {}
    void reread_tables() override { triggers_.reread_tables(), world_.reread(); }

  private:
    TriggerNotices triggers_;
    const ServiceWorld& world_;
};

/// Of one app.
struct AppValidator {
    AppValidator(const AppSpec& app, const ServiceWorld& w, ValidateStore& store)
        : service(options, w.config, store, w.env.clock) {
        options.app_name = app.name;
        options.output = [&w](const Result& r) {
            const bool wrong = w.wrong_results.contains(r.name);
            return OutputCheck{OutputCheck::Kind::kGood, wrong ? r.name : "right"};
        };
    }
    ValidatorOptions options;
    Validator service;
};

struct Shares {
    Shares(const ServiceWorld& w, Notices& notices)
        : options(shares_options_of(w.scenario, w.config)),
          store(w.db),
          quotas([this, &clock = w.env.clock] { give_quotas(clock.now()); }),
          service(options, store, w.env.clock, notices) {
        store.since = w.env.clock.now();
        for (std::size_t u = 0; u < w.scenario.users.size(); ++u) {
            double from = 1e9;
            for (const WorkSpec& work : w.scenario.work)
                if (work.user == w.scenario.users[u].name) from = std::min(from, work.from_day);
            arrivals.push_back({store.since + from * kDay, static_cast<Id>(u) + 1, w.scenario.users[u].quota});
        }
    }
    /// A user who is not there yet has no quota: nobody's share is the smaller for him.
    void give_quotas(double now) {
        for (const Arrival& a : arrivals)
            if (a.at <= now) store.quotas[a.user] = a.quota;
    }
    struct Arrival {
        double at;
        Id user;
        double quota;
    };
    SharesOptions options;
    MemoryShareStore store;
    std::vector<Arrival> arrivals;
    Model quotas;
    SharesService service;
};

struct SimulatedPlanner {
    SimulatedPlanner(const ServiceWorld& w, MemoryBatchPlanStore& plans, MemoryBatchUpkeepStore& batches,
                     Notices& notices)
        : settings(planner_settings_of(w.scenario, w.config)),
          facts(w.db),
          planner(settings, {facts, plans, batches}, w.plan_classes, w.env.clock),
          service(settings, planner, w.env.clock, notices),
          expectations([this, &w, &plans, &batches] { tell(w, plans, batches); }) {}
    /// After each plan.
    void tell(const ServiceWorld& w, MemoryBatchPlanStore& plans, MemoryBatchUpkeepStore& batches) {
        const BatchPlan* plan = w.db.plans.get(1);
        if (plan == nullptr || plan->version == told) return;
        told = plan->version;
        const EtaFactors factors = plans.eta_factors();
        for (const Batch& b : batches.in_progress(w.env.clock.now_sec()))
            if (plan->find_batch(b.id) != nullptr) w.expected(b.id, b.est_completion_time, factors);
    }
    PlannerSettings settings;
    MemoryBatchPlanFactsStore facts;
    BatchPlanner planner;
    PlannerService service;
    std::int64_t told = 0;
    Model expectations;
};

struct Acceleration {
    Acceleration(const ServiceWorld& w, MemoryBatchUpkeepStore& batches)
        : stats_store(w.db),
          versions(w.db),
          accel_store(w.db),
          stats_settings(stats_settings_of(w.scenario, w.config)),
          options(accel_options_of(w.scenario)),
          stats(stats_settings, stats_store, versions, w.env.clock),
          accel(options, w.config, {accel_store, batches, stats_store, versions}, w.env.clock) {}
    MemoryBatchStatsStore stats_store;
    MemoryHostLttStore versions;
    MemoryBatchAccelStore accel_store;
    StatsSettings stats_settings;
    AccelOptions options;
    StatsService stats;
    AccelService accel;
};

}  // namespace

struct ProjectServices::Parts {
    explicit Parts(const ServiceWorld& w)
        : world(w),
          notices(world),
          transitions(w.db),
          validation(w.db),
          sizes(w.db),
          census_store(w.db),
          hr_census_store(w.db),
          batches(w.db),
          plans(w.db),
          leases(w.db),
          templates(w.config.project_dir, w.config.upload_url, nullptr),
          transitioner({}, transition_params(w.config), transitions, templates, w.env),
          regulation(regulator_settings(w.scenario, w.config)),
          regulator(regulation, sizes, w.env.clock),
          census(census_options, w.config.project_dir, w.config.compat_level, census_store, w.plan_classes,
                 w.env.clock),
          hr_census(hr_census_store, w.config.project_dir, w.config.compat_level),
          upkeep(batches, {}, w.env.clock),
          acceleration(world, batches),
          gangs(leases, plans, w.env.clock, {w.config.next_rpc_delay, w.config.daily_result_quota, false}),
          assimilator(world.assimilate),
          cleaner(world.clean_up),
          timetable(w.env.clock) {
        timetable.add_daemon(transitioner);
        for (const AppSpec& app : w.scenario.apps)
            timetable.add_daemon(
                validators.emplace_back(std::make_unique<AppValidator>(app, world, validation))->service);
        timetable.add_daemon(assimilator);
        if (!regulation.apps.empty()) timetable.add_daemon(regulator);
        add_censuses();
        add_batches();
        timetable.add_daemon(cleaner);
    }
    void add_censuses() {
        const auto& apps = world.scenario.apps;
        const double every = kHour * world.scenario.census_every_hours;
        if (std::ranges::any_of(apps, [](const AppSpec& app) { return app.size_classes > 1; }))
            timetable.add_task(census, every);
        if (!world.config.hr_allocate_slots) return;
        timetable.add_task(hr_census, every);
        hr_census.turn();
    }
    void add_batches() {
        const Scenario& s = world.scenario;
        if (s.accel_every_hours > 0) {
            timetable.add_task(acceleration.stats, kHour * s.accel_every_hours);
            timetable.add_task(acceleration.accel, kHour * s.accel_every_hours);
        }
        if (s.shares_every_minutes > 0) {
            shares.emplace(world, notices);
            timetable.add_daemon(shares->quotas);
            timetable.add_helper(upkeep, [this] { return shares->service.pass_is_due(); });
            timetable.add_daemon(shares->service);
        }
        if (s.planner_every_minutes > 0) {
            planner.emplace(world, plans, batches, notices);
            timetable.add_helper(upkeep, [this] { return planner->service.pass_is_due(); });
            timetable.add_daemon(planner->service);
            timetable.add_daemon(planner->expectations);
        }
    }

    ServiceWorld world;
    ObservedNotices notices;
    MemoryTransitionStore transitions;
    MemoryValidateStore validation;
    MemorySizeRegulatorStore sizes;
    MemorySizeCensusStore census_store;
    MemoryHrCensusStore hr_census_store;
    MemoryBatchUpkeepStore batches;
    MemoryBatchPlanStore plans;
    MemoryGangLeaseStore leases;
    ResultTemplates templates;
    Transitioner transitioner;
    std::vector<std::unique_ptr<AppValidator>> validators;
    RegulatorSettings regulation;
    Regulator regulator;
    CensusOptions census_options;
    SizeCensus census;
    HrCensusTask hr_census;
    UpkeepService upkeep;
    Acceleration acceleration;
    std::optional<Shares> shares;
    std::optional<SimulatedPlanner> planner;
    GangService gangs;
    Model assimilator, cleaner;
    bool has_gangs = false;
    Timetable timetable;
};

ProjectServices::ProjectServices(const ServiceWorld& world) : parts_(std::make_unique<Parts>(world)) {}
ProjectServices::~ProjectServices() = default;

void ProjectServices::take_turns() { parts_->timetable.take_turns(); }

void ProjectServices::start_gang_planner() {
    if (!std::exchange(parts_->has_gangs, true)) parts_->timetable.add_daemon(parts_->gangs);
}

}  // namespace sluice::sim
