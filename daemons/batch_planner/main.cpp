// SPDX-License-Identifier: LGPL-3.0-or-later
// batch_planner: by when each batch in progress can be done, and on which hosts (seed 000). Has no counterpart
// upstream.
#include <cstdio>
#include <filesystem>

#include "config/db_settings.h"
#include "config/load.h"
#include "daemons/batch_planner/planner_config.h"
#include "daemons/batch_planner/planner_pass.h"
#include "sluice/base/error.h"
#include "sluice/base/log.h"
#include "sluice/base/watched_files.h"
#include "sluice/daemon/program.h"

namespace sluice {
namespace {

constexpr const char* kDescription =
    "For each batch in progress, in their order: T, the least time by which the hosts can have done it if all begin as "
    "soon as they can, with what the batches before it leave of them; H, the hosts that complete at least one job by T. "
    "The scheduler gets the plan with the feeder's tables: jobs of a planned batch go to hosts in H only, with deadlines "
    "that make their clients run them first (<plan_batches> in config.xml). Then, or with --give_up, instances that miss "
    "the plan are given up for another, while what comes back by its deadline is still taken. batch.est_completion_time "
    "becomes the time by which the batch is expected to be done. Hosts whose jobs of batches keep failing are left out.";

struct Options {
    PlannerSettings settings;
    std::optional<Id> explain;
};

void define_options(CommandLine& line, Options& o) {
    line.id_option("--explain", o.explain,
                   "say of one batch what T is and which hosts are in H or why not; write nothing");
    line.flag("--give_up", o.settings.give_up, "give up instances that miss the plan for another one");
    line.option(
        "--copies", o.settings.copies,
        "copies of a batch's last jobs, where another host would be done sooner: at most this part of its jobs, 0 "
        "to 0.5; default 0, none; sluice_batch show says what they cost");
    line.option("--margin", o.settings.rules.margin, "times the expected run time, 1 to 10");
    line.option("--horizon", o.settings.rules.horizon, "seconds: batches that take longer go to any host");
    line.section("EXAMPLES", "As a daemon of config.xml:\n<daemon><cmd>batch_planner</cmd></daemon>");
}

std::string check_options(const Options& o) {
    if (!(o.settings.rules.margin >= 1 && o.settings.rules.margin <= 10)) return "--margin: a number from 1 to 10";
    if (!(o.settings.rules.horizon >= 600 && o.settings.rules.horizon <= 1e9))
        return "--horizon: a number of seconds, 600 to 1e9";
    if (!(o.settings.copies >= 0 && o.settings.copies <= 0.5)) return "--copies: a part of a batch's jobs, 0 to 0.5";
    return "";
}

/// Where the file can't be read the classes stay as they are.
void read_again(PlanClasses& classes, const std::filesystem::path& project) {
    try {
        classes = load_plan_classes(project);
    } catch (const Error& e) {
        log_critical("{}; plans are made by the plan classes that were read before", e.what());
    }
}

int run(DaemonStart& start, Options& o) {
    const ProjectConfig config = load_config_and_warn(start.settings.project);
    if (o.settings.copies > 0 && !config.one_result_per_host_per_wu && !config.one_result_per_user_per_wu)
        throw ConfigError(
            "--copies wants <one_result_per_host_per_wu> or <one_result_per_user_per_wu> in config.xml: else a copy may go "
            "to the host that has the job");
    o.settings.dry_run = start.dry_run || o.explain;
    o.settings.one_pass = start.settings.one_pass;
    take_config(o.settings, config);
    Database db(db_settings(config));
    const auto facts = make_plan_facts_store(db);
    const auto plans = make_plan_store(db);
    const auto batches = make_batch_upkeep_store(db);
    PlanClasses classes = load_plan_classes(start.settings.project);
    WatchedFiles class_file;
    class_file.watch({start.settings.project / "plan_class_spec.xml"});
    o.settings.every = start.settings.sleep_interval;
    o.settings.before_turn = [&] {
        if (class_file.changed()) read_again(classes, start.settings.project);
    };
    PlannerPass pass(o.settings, {*facts, *plans, *batches}, classes, start.env.clock);
    if (o.explain) {
        std::fputs(pass.explain(*o.explain).c_str(), stdout);
        return 0;
    }
    TriggerNotices notices(start.settings.project);
    PlannerService service(o.settings, pass, start.env.clock, notices);
    return start.run(service);
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    Options options;
    const DaemonProgram program{
        .summary = "plan by when batches can be done, and on which hosts",
        .description = kDescription,
        .settings = {.name = "batch_planner", .sleep_interval = 60, .lock_name = "batch_planner"},
        .has_dry_run = true,
        .options = [&](CommandLine& line) { define_options(line, options); },
        .check = [&](DaemonStart&) { return check_options(options); },
        .run = [&](DaemonStart& start) { return run(start, options); }};
    return daemon_main(program, argc, argv);
}
