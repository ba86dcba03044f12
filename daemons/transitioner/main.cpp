// SPDX-License-Identifier: LGPL-3.0-or-later
// transitioner: moves workunits and their results along: makes the instances, times out those that were not returned,
// asks for validation, gives up on jobs that fail too often, hands over to the assimilator and releases files for
// deletion. Upstream's program of that name, same options. Several may run, with --mod or without.
#include "config/db_settings.h"
#include "config/load.h"
#include "daemons/transitioner/config_params.h"
#include "daemons/transitioner/transitioner.h"
#include "sluice/daemon/program.h"
#include "sluice/db/column_size.h"
#include "sluice/db/tables_version.h"

namespace sluice {
namespace {

void define_options(CommandLine& line, std::optional<Id>& wu_id) {
    line.id_option("--wu_id", wu_id, "only this workunit, due or not; then exit");
    line.section("FILES",
                 "config.xml of the project; the result template of each workunit, below the project; "
                 "keys/upload_private unless <dont_generate_upload_certificates> is set; stop_daemons ends it.");
}

int run(DaemonStart& start, std::optional<Id> wu_id) {
    start.settings.one_pass = start.settings.one_pass || wu_id;
    const ProjectConfig config = load_config_and_warn(start.settings.project);
    std::optional<PrivateKey> signer;
    if (!config.dont_generate_upload_certificates)
        signer = PrivateKey::read(std::filesystem::path(config.key_dir) / "upload_private");
    ResultTemplates templates(start.settings.project, config.upload_url, signer ? &*signer : nullptr);
    Database db(db_settings(config));
    templates.set_limit([&db](std::size_t bytes) { return why_too_long(db, {"result", "xml_doc_in"}, bytes); });
    const auto store = make_transition_store(db);
    const TransitionerOptions options{
        {start.share, wu_id}, start.dry_run, start.settings.one_pass, start.settings.sleep_interval};
    Transitioner transitioner(options, transition_params(config), *store, templates, start.env);
    PreparedService turns(transitioner, [&db] { require_known_tables(db); });
    return start.run(turns);
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    std::optional<Id> wu_id;
    const DaemonProgram program{
        .summary = "move workunits and results through their states",
        .description =
            "Looks at each workunit whose transition time has come, and at all its results. Makes new results, times "
            "out overdue ones, asks for validation and flags errors. Hands over to the assimilator and the file "
            "deleter.",
        .settings = {.name = "transitioner", .one_pass_while_stopped = true},
        .has_mod = true,
        .has_dry_run = true,
        .options = [&](CommandLine& line) { define_options(line, wu_id); },
        .run = [&](DaemonStart& start) { return run(start, wu_id); }};
    return daemon_main(program, argc, argv);
}
