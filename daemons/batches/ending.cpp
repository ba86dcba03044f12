// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batches/ending.h"

#include "config/load.h"
#include "config/options/app_findings.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"

namespace sluice {

std::optional<BatchState> BatchEnding::set_state(Id batch, const std::vector<BatchState>& from, BatchState to,
                                                 const InOrder& in_order) {
    std::optional<BatchState> state;
    const double now = clock_.now();
    const auto set = [&] { state = store_.change_state(batch, from, to, static_cast<Id>(now)); };
    if (!shares_) {
        set();
        return state;
    }
    shares_->store.prepare();
    const double flops = flops_of(shares_->store.project_speed(now), now);
    auto works = shares_->store.works(now, batch);
    shares_->store.change(shares_->settings, now, [&](ShareBook& book) {
        set();
        if (state != to || works.empty()) return;
        works[0].state = to;
        works[0].stream.reset();
        in_order(book, works[0], flops, now);
    });
    return state;
}

std::optional<BatchState> BatchEnding::abort(Id batch, std::span<const Id> unassimilated) {
    // First the state: from then on a submission that still runs adds nothing.
    // With the clock, so that it is charged for what was measured and no more.
    const auto state =
        set_state(batch, {BatchState::kInit, BatchState::kInProgress}, BatchState::kAborted,
                  [](ShareBook& book, const BatchWork& work, double flops, double) { finish(book, work, flops); });
    if (state != BatchState::kAborted) return state;
    cancel_all(batch);
    // What is done may be fetched until the batch is retired.
    store_.count_as_assimilated(batch, unassimilated, BatchOwnerStore::OverBy::kCancelling, clock_.now_sec());
    return state;
}

void BatchEnding::cancel_all(Id batch) {
    constexpr int kAtOnce = 1000;
    for (std::optional<Id> after = 0; after;) after = store_.cancel_jobs(batch, *after, kAtOnce, clock_.now_sec());
}

AppAssimilators app_assimilators(const std::filesystem::path& project, std::span<const App> apps) {
    const auto file = project / "config.xml";
    AppAssimilators found;
    try {
        const auto entries = parse_daemons_and_tasks(read_file(file).value_or("<daemons>"), file.string());
        for (const App& app : apps) {
            if (!may_have_assimilator(app.name, entries)) found.none.push_back(app.id);
            if (assimilator_is_off(app.name, entries)) found.idle.push_back(app.name);
        }
    } catch (const ConfigError&) {
    }
    return found;
}

}  // namespace sluice
