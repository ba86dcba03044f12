// SPDX-License-Identifier: LGPL-3.0-or-later
// create_batch: makes a batch, and starts it. Upstream's submit_batch calls a program of that name with these options.
#include <fmt/core.h>

#include "config/db_settings.h"
#include "config/load.h"
#include "daemons/batch/batch_commands.h"
#include "daemons/batches/shares.h"
#include "sluice/base/error.h"
#include "sluice/base/log.h"
#include "sluice/base/project.h"
#include "sluice/base/text.h"
#include "sluice/base/users.h"
#include "sluice/daemon/program.h"

namespace sluice {
namespace {

struct NewBatchWords {
    std::string app, name;
    std::optional<Id> user, enable;
    std::optional<int> njobs;
};

std::string problem_of_batch(const NewBatchWords& w) {
    if (w.enable)
        return w.user || w.njobs || !w.app.empty() || !w.name.empty()
                   ? "--enable stands alone: the batch is there already"
                   : "";
    if (!w.user || w.app.empty()) return "give --app_name and --user_id of the new batch, or --enable BATCH";
    return w.njobs.value_or(0) < 0 ? "--njobs must not be negative" : "";
}

Id make_batch(const NewBatchWords& w, Database& db, BatchCommands& commands) {
    const auto app = make_work_store(db)->app_by_name(w.app);
    if (!app)
        throw ConfigError("there is no app named '" + in_one_line(w.app) + "': bin/xadd adds those of project.xml");
    OwnedBatch batch;
    batch.row.user_id = *w.user, batch.row.app_id = app->id, batch.row.name = w.name,
    batch.row.njobs = w.njobs.value_or(0);
    batch.app_name = app->name;
    return commands.create(batch);
}

void start_batch(Id id, BatchCommands& commands) {
    const OwnedBatch batch = commands.find(id);
    if (batch.row.state == BatchState::kInProgress) return;  // a script that was killed starts it again
    const BatchCommands::Started started = commands.start(id);
    if (started.state != BatchState::kInProgress)
        throw ConfigError(fmt::format("batch {} is over: sluice_batch show {} tells more", id, id));
    if (started.without_quota)
        fmt::print(stderr, "create_batch: warning: user {} has no quota: sluice_batch quota --set gives one\n",
                   batch.row.user_id);
}

int run_create_batch(const NewBatchWords& words) {
    const fs::path project = find_project_dir();
    refuse_root_in_project_of_another("bin/create_batch", project);
    const ProjectConfig config = load_config_and_warn(project);
    Database db(db_settings(config));
    const auto store = make_batch_owner_store(db);
    const auto counts = make_batch_upkeep_store(db);
    const auto shares = make_share_store(db);
    const auto quotas = make_quota_store(db);
    SystemClock clock;
    std::optional<SharesInUse> in_use;
    if (auto settings = share_settings(config)) {
        if (const auto owner = owner_without_batch(config, *quotas).user) settings->owner_without_batch = owner->id;
        in_use.emplace(SharesInUse{*shares, *settings});
    }
    BatchCommands commands(*store, *counts, in_use, clock);
    if (words.enable)
        start_batch(*words.enable, commands);
    else
        fmt::print("{}\n", make_batch(words, db, commands));
    if (words.enable && in_use) ask_feeder_to_reread(project);
    return 0;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    NewBatchWords words;
    CommandLine line(
        "create_batch", "make a batch for create_work, and start it",
        "Prints the number of the new batch, for create_work --batch. When its jobs are there, --enable starts it. "
        "sluice_batch does both, and more.");
    line.option("--app_name", words.app, "short name of the app of all its jobs", "NAME");
    line.id_option("--user_id", words.user, "the account whose batch it is");
    line.option("--name", words.name, "a name for people; default: app and time", "TEXT");
    line.option("--njobs", words.njobs, "how many jobs it is to have; they are counted when it starts", "N");
    line.id_option("--enable", words.enable, "start this batch: its jobs are there");
    line.section("EXAMPLES",
                 "batch=$(bin/create_batch --app_name tiles --user_id 3)\nbin/stage_file --copy in\n"
                 "ls in | bin/create_work --appname tiles --batch $batch --stdin\nbin/create_batch --enable $batch");
    line.section("EXIT STATUS", "0: done. 1: no such app, account or batch, or the batch is over.");
    return tool_main({"create_batch"}, [&] {
        log_open({});
        if (const auto status = line.parse(argc, argv)) return *status;
        const std::string wrong = problem_of_batch(words);
        return wrong.empty() ? run_create_batch(words) : line.fail(wrong);
    });
}
