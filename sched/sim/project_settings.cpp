// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/sim/project_settings.h"

#include <sstream>

#include "config/load.h"
#include "daemons/batches/planner.h"
#include "daemons/batches/shares.h"
#include "daemons/batches/turnaround_options.h"
#include "feeder/command.h"
#include "sluice/base/error.h"
#include "sluice/base/log.h"
#include "sluice/base/text.h"
#include "sluice/daemon/program.h"

namespace sluice::sim {
namespace {

/// What config.xml would say. A wrong value would be a what-if that changes nothing: it is refused, in a project's own
/// file, too; options that nobody knows are only named there.
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

}  // namespace sluice::sim
