// SPDX-License-Identifier: LGPL-3.0-or-later
#include "feeder/dry_run.h"

#include <fmt/core.h>

#include "feeder/chain.h"

namespace sluice {

std::string feeder_dry_run(const ProjectConfig& config, const FeederOptions& options, FeederStore& store,
                           CatalogueStore& catalogue, Env env) {
    ProjectTables tables = catalogue.load_tables();
    if (!config.gives_an_owner_to_jobs_without_batch()) tables.batch_shares.erase(kWithoutBatch);
    const ArrayMirror empty(static_cast<std::size_t>(config.shmem_work_items));
    Chain chain(config, options, store, env, [](Id) { return false; });
    chain.set_apps(tables.apps);
    if (config.share_rule != ShareOrder::kOff) chain.set_batches(tables.batch_shares);
    while (!chain.enumerator.has_surveyed()) chain.enumerator.turn(env.clock.now(), true);
    const Choice choice = chain.filler.choose(empty, empty.empty_slots(), env.clock.now());
    std::string text;
    for (const Placement& p : choice.placements) {
        const App* app = tables.app(p.job.app_id);
        text +=
            fmt::format("slot {}: [RESULT#{}] of [WU#{}], app {}, priority {}, batch {}, size class {}, HR class {}\n",
                        p.slot, p.job.result_id, p.job.workunit_id, app != nullptr ? app->name : "?", p.job.priority,
                        p.job.batch, p.job.size_class, p.job.hr_class);
    }
    text += fmt::format("{} of {} slots would be filled, {} more jobs wait, {} would be marked as not needed\n",
                        choice.placements.size(), empty.size(), chain.enumerator.backlog().size(),
                        choice.not_needed.size());
    return text;
}

}  // namespace sluice
