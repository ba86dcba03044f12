// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/assimilator/program.h"

#include "config/db_settings.h"
#include "config/load.h"

namespace sluice {
namespace {

void define_options(CommandLine& line, AssimilatorOptions& o) {
    line.option("--app", o.app_name, "app whose workunits are assimilated (required)", "NAME");
    line.option("--wu_id", o.filter.wu_id, "only this workunit", "ID");
    line.option("--one_pass_N_WU", o.one_pass_n_wu, "stop after N workunits");
    line.flag("--dont_update_db", o.dont_update_db, "do it, mark nothing");
}

std::string take(AssimilatorOptions& o, DaemonStart& start) {
    o.filter.share = start.share;
    o.every = start.settings.sleep_interval;
    if (o.dont_update_db) start.settings.one_pass = true;
    return o.app_name.empty() ? "--app is required" : "";
}

int run(const AssimilatorProgram& program, AssimilatorOptions& options, DaemonStart& start) {
    options.one_pass = start.settings.one_pass;
    const ProjectConfig config = load_config_and_warn(start.settings.project);
    Database db(db_settings(config));
    const auto store = make_assimilate_store(db);
    const auto handler = program.handler(options, config, start);
    Assimilator assimilator(options, *handler, config, *store, start.env.clock);
    return start.run(assimilator);
}

}  // namespace

int assimilator_main(const AssimilatorProgram& program, int argc, const char* const* argv) {
    AssimilatorOptions options;
    const DaemonProgram daemon{.summary = program.summary,
                               .description = program.description,
                               .settings = {.name = program.name, .sleep_interval = 10},
                               .has_mod = true,
                               .options =
                                   [&](CommandLine& line) {
                                       define_options(line, options);
                                       if (program.options) program.options(line);
                                   },
                               .check =
                                   [&](DaemonStart& start) {
                                       const std::string wrong = program.check ? program.check() : "";
                                       return wrong.empty() ? take(options, start) : wrong;
                                   },
                               .run = [&](DaemonStart& start) { return run(program, options, start); }};
    return daemon_main(daemon, argc, argv);
}

}  // namespace sluice
