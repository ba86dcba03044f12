// SPDX-License-Identifier: LGPL-3.0-or-later
// batch_shares: keeps the order of users' batches by their quotas (seed 000) while batches come and results come in.
#include "config/db_settings.h"
#include "config/load.h"
#include "daemons/batch_shares/owners_page.h"
#include "daemons/batch_shares/share_config.h"
#include "daemons/batch_shares/shares_pass.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/daemon/program.h"
#include "sluice/db/batch_owner_store.h"
#include "sluice/db/batch_store.h"
#include "sluice/db/plan_store.h"

namespace sluice {
namespace {

constexpr const char* kDescription =
    "For each batch in progress whose user has a quota (user_submit): its logical start and end time, by the rule of "
    "<share_rule>; jobs of the batch with the least logical end time go first. Batches of sluice_batch have theirs when they "
    "are submitted; others (create_work --batch, web pages) get them here. With rule settled, what was measured takes the "
    "place of what was estimated, errors and extra instances included. Without a quota a batch comes after all others. "
    "Jobs without a batch are those of the user whom <jobs_without_batch> names, if it does. "
    "--dry_run says what a pass would charge, settle and place; it may run beside the daemon.";

/// Those that are not retired, the newest.
constexpr int kBatchesShown = 500;

/// batch_upkeep, which keeps the rows of open batches, need not run.
void count_open(std::vector<OwnedBatch>& batches, BatchUpkeepStore& counts) {
    std::vector<Batch*> open;
    std::vector<Id> ids;
    for (OwnedBatch& b : batches)
        if (b.row.state == BatchState::kInit || b.row.state == BatchState::kInProgress)
            open.push_back(&b.row), ids.push_back(b.row.id);
    const auto counted = counts.progress(ids);
    for (std::size_t i = 0; i < open.size(); ++i) {
        const BatchProgress& p = counted[i];
        open[i]->njobs = p.njobs, open[i]->nerror_jobs = p.errors;
        open[i]->fraction_done = p.njobs > 0 ? static_cast<double>(p.done()) / p.njobs : 0;
    }
}

void write_page(const std::filesystem::path& file, const ProjectConfig& config, Database& db, ShareStore& store,
                double now) {
    OwnersPage page;
    page.project = config.long_name;
    page.now = now;
    page.eta_factors = make_plan_store(db)->eta_factors();
    page.batches = make_batch_owner_store(db)->list({0, false, kBatchesShown});
    count_open(page.batches, *make_batch_upkeep_store(db));
    page.users = store.users();
    page.days = store.work_by_day(static_cast<std::int64_t>(now / 86400) - kDaysShown + 1);
    write_file_atomically(file, owners_page(page));
}

int run(DaemonStart& start, const std::string& page) {
    const ProjectConfig config = load_config_and_warn(start.settings.project);
    const auto rules = share_settings(config);
    if (!rules) {
        log_critical("<share_rule> is off: set it to settled or seed in config.xml, or take batch_shares out of it");
        return 1;
    }
    Database db(db_settings(config));
    const auto store = make_share_store(db);
    const OwnerWithoutBatch owner = owner_without_batch(config, *make_quota_store(db));
    if (!owner.problem.empty()) log_warning("{}", owner.problem);
    SharesOptions options{start.settings.sleep_interval, *rules, config.compat_level, start.dry_run};
    options.rules.owner_without_batch = owner.user ? owner.user->id : 0;
    if (!page.empty())
        options.after_pass = [&](double now) { write_page(start.settings.project / page, config, db, *store, now); };
    TriggerNotices notices(start.settings.project);
    SharesService service(options, *store, start.env.clock, notices);
    return start.run(service);
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    std::string page;
    const DaemonProgram program{
        .summary = "keep the order of batches by their users' shares",
        .description = kDescription,
        .settings = {.name = "batch_shares", .sleep_interval = 300, .lock_name = "batch_shares"},
        .has_dry_run = true,
        .options =
            [&page](CommandLine& line) {
                line.option(
                    "--page", page,
                    "after each pass, write a page for the batches' owners: progress, end, and what part of the "
                    "work each user got; relative to the project's folder",
                    "FILE");
                line.section("EXAMPLES",
                             "As a daemon of config.xml, with a page that the web server shows:\n"
                             "<daemon><cmd>batch_shares --page html/user/batches.html</cmd></daemon>");
            },
        .run = [&page](DaemonStart& start) { return run(start, page); }};
    return daemon_main(program, argc, argv);
}
