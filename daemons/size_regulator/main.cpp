// SPDX-License-Identifier: LGPL-3.0-or-later
// size_regulator: keeps the number of sendable jobs of each size class between two water marks, by making INACTIVE
// results UNSENT. Upstream's program of that name; several apps in one process; two at once never exceed the marks.
#include "config/db_settings.h"
#include "config/load.h"
#include "daemons/size_regulator/regulator.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/daemon/program.h"

namespace sluice {
namespace {

std::vector<RegulatedApp> apps_of_config(const std::filesystem::path& project) {
    const std::filesystem::path file = project / "config.xml";
    return regulated_apps(read_file(file).value_or(""), file.string());
}

int run(RegulatorSettings& settings, DaemonStart& start) {
    if (settings.apps.empty()) settings.apps = apps_of_config(start.settings.project);
    if (settings.apps.empty())
        throw ConfigError(
            "--app_name is required, or <size_regulator> in config.xml (size_regulator --help tells more)");
    const ProjectConfig config = load_config_and_warn(start.settings.project);
    take_shares(config, settings);
    Database db(db_settings(config));
    const auto store = make_size_regulator_store(db);
    Regulator regulator(settings, *store, start.env.clock);
    return start.run(regulator);
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    RegulatorOptions options;
    RegulatorSettings settings;
    const DaemonProgram program{
        .summary = "regulate the flow of jobs of each size class",
        .description =
            "When fewer than --lo results of a size class are UNSENT, makes INACTIVE ones UNSENT until there are "
            "--hi. With <share_rule> in config.xml, and without an option of an order, jobs of planned batches go "
            "first. Then come those of the batch with the least logical end time. It notices a change of "
            "n_size_classes.",
        .settings = {.name = "size_regulator"},
        .lifetime = Lifetime::kAtOwnPace,
        .has_dry_run = true,
        .options = [&](CommandLine& line) { options.define(line); },
        .check = [&](DaemonStart& start) { return options.take(start, settings); },
        .run = [&](DaemonStart& start) { return run(settings, start); }};
    return daemon_main(program, argc, argv);
}
