// SPDX-License-Identifier: LGPL-3.0-or-later
// antique_file_deleter: deletes uploads that belong to no workunit any more. Upstream's program of that name.
#include "config/db_settings.h"
#include "config/load.h"
#include "daemons/cleaning/antique_files.h"
#include "sluice/base/users.h"
#include "sluice/daemon/program.h"

namespace sluice {
namespace {

int run(DaemonStart& start, AntiqueOptions options) {
    const ProjectConfig config = load_config_and_warn(start.settings.project);
    Database db(replica_db_settings(config));
    const auto store = make_cleaning_store(db);
    options.upload_dir = config.upload_dir;
    options.fanout = config.uldl_dir_fanout;
    options.dry_run = start.dry_run;
    // Its default names an account that most machines do not have: then whoever's files they are.
    if (const auto user = find_user(config.httpd_user)) options.owner = user->uid;
    AntiqueFiles task(std::move(options), *store, start.env.clock);
    return start.run(task);
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    AntiqueOptions options;
    const DaemonProgram program{
        .summary = "delete uploads that belong to no workunit any more",
        .description =
            "An upload may go if it is older than 32 days and was there a day before the oldest workunit was made. Uploads "
            "that were never finished are among them. If there is an account <httpd_user>, only its files are deleted. Run it once "
            "a day, as a <task> in config.xml.",
        .settings = {.name = "antique_file_deleter", .lock_name = "antique_file_deleter"},
        .lifetime = Lifetime::kAlwaysOnce,
        .has_dry_run = true,
        .options =
            [&](CommandLine& line) {
                line.option("--usleep", options.pause, "pause after each deletion, in microseconds; default 50000",
                            "N");
                line.section("EXIT STATUS", "0: done, stopped, or there are no workunits. 1: it could not be done.");
            },
        .check = [&](DaemonStart&) { return options.pause < 0 ? "--usleep is below 0" : ""; },
        .run = [&](DaemonStart& start) { return run(start, options); }};
    return daemon_main(program, argc, argv);
}
