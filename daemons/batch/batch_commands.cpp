// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batch/batch_commands.h"

#include <fmt/core.h>

#include <cmath>

#include "sluice/base/error.h"

namespace sluice {
namespace {

constexpr int kCancelled = 1000;  ///< workunits a transaction

[[noreturn]] void refuse_unknown(Id batch) {
    throw ConfigError(
        fmt::format("batch {}: there is no such batch: sluice_batch list --all shows those there are", batch));
}

/// As the batch's row says it, without a look at its workunits.
BatchProgress kept_progress(const Batch& b) {
    const int done = static_cast<int>(std::lround(b.fraction_done * b.njobs));
    return {b.id, b.njobs, done - b.nerror_jobs, b.nerror_jobs, b.credit_canonical};
}

}  // namespace

OwnedBatch BatchCommands::find(Id batch) {
    auto found = store_.batch(batch);
    if (!found) refuse_unknown(batch);
    return *found;
}

Id BatchCommands::create(const OwnedBatch& wanted) {
    OwnedBatch batch = wanted;
    if (!store_.user_name(batch.row.user_id))
        throw ConfigError(
            fmt::format("there is no user {}: --user takes the number of an account (create_account makes one)",
                        batch.row.user_id));
    batch.row.create_time = clock_.now_sec();
    if (batch.row.name.empty())
        batch.row.name = fmt::format("{} of {}", batch.app_name, utc_text(static_cast<double>(batch.row.create_time)));
    store_.create(batch);
    return batch.row.id;
}

std::vector<BatchView> BatchCommands::list(const BatchFilter& filter) {
    std::vector<BatchView> views;
    std::vector<Id> open;
    for (const OwnedBatch& b : store_.list(filter)) {
        views.push_back({b, kept_progress(b.row), std::nullopt, clock_.now()});
        const bool may_change = b.row.state == BatchState::kInit || b.row.state == BatchState::kInProgress;
        if (may_change) open.push_back(b.row.id);
    }
    // Of the others the row says it: they may have a million workunits.
    auto counted = counts_.progress(open);
    auto next = counted.begin();
    for (BatchView& v : views)
        if (next != counted.end() && next->batch == v.batch.row.id) v.progress = *next++;
    return views;
}

BatchView BatchCommands::show(Id batch) {
    BatchView view{find(batch), {}, store_.cost(batch), clock_.now()};
    const Id ids[] = {batch};
    view.progress = counts_.progress(ids).at(0);
    // Retired and purged: the row is what is left.
    if (view.progress.njobs <= 0) view.progress = kept_progress(view.batch.row);
    return view;
}

BatchState BatchCommands::set_state(Id batch, const std::vector<BatchState>& from, BatchState to,
                                    const InOrder& in_order) {
    std::optional<BatchState> state;
    const double now = clock_.now();
    const auto set = [&] { state = store_.change_state(batch, from, to, static_cast<Id>(now)); };
    if (!shares_) {
        set();
    } else {
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
    }
    if (!state) refuse_unknown(batch);
    return *state;
}

BatchCommands::Started BatchCommands::start(Id batch) {
    Started done;
    done.state = set_state(batch, {BatchState::kInit}, BatchState::kInProgress,
                           [&](ShareBook& book, const BatchWork& work, double flops, double now) {
                               done.without_quota = !admit(book, work, flops, now);
                           });
    return done;
}

void BatchCommands::move(Id batch, Id before) {
    const OwnedBatch b = find(batch), a = find(before);
    if (!shares_)
        throw ConfigError(fmt::format("batch {}: batches have no order: <share_rule> is off in config.xml", batch));
    if (batch == before) throw ConfigError(fmt::format("batch {}: it can't be moved before itself", batch));
    if (a.row.user_id != b.row.user_id)
        throw ConfigError(
            fmt::format("batch {}: batch {} is another user's ({}): only the order of one user's batches can be "
                        "changed",
                        batch, before, a.row.user_id));
    for (const OwnedBatch* each : {&b, &a})
        if (each->row.state != BatchState::kInProgress)
            throw ConfigError(fmt::format("batch {}: it is {}: only batches in progress have an order", each->row.id,
                                          state_name(each->row.state)));
    shares_->store.prepare();
    try {
        shares_->store.change(shares_->settings, clock_.now(), [&](ShareBook& book) {
            for (const Id id : {batch, before})
                if (!book.clock.has(id))
                    throw ConfigError(
                        fmt::format("batch {}: it has no place in the order yet: batch_shares gives it one, if "
                                    "its user has a quota",
                                    id));
            book.clock.move(b.row.user_id, batch, before);
        });
    } catch (const share::ShareError& e) {
        throw ConfigError(fmt::format("batch {}: {}", batch, e.what()));
    }
}

void BatchCommands::abort(Id batch, Apps unassimilated) {
    // First the state: from then on a submission that still runs adds nothing.
    // With the clock, so that it is charged for what was measured and no more.
    const BatchState state =
        set_state(batch, {BatchState::kInit, BatchState::kInProgress}, BatchState::kAborted,
                  [](ShareBook& book, const BatchWork& work, double flops, double) { finish(book, work, flops); });
    if (state != BatchState::kAborted)
        throw ConfigError(fmt::format("batch {}: it is {}: there is nothing to abort", batch, state_name(state)));
    cancel_all(batch);
    // What is done may be fetched until the batch is retired.
    store_.count_as_assimilated(batch, unassimilated, BatchOwnerStore::OverBy::kCancelling, clock_.now_sec());
}

void BatchCommands::retire(Id batch, const std::filesystem::path& project, Apps unassimilated) {
    const OwnedBatch before = find(batch);
    if (before.row.state == BatchState::kAborted) cancel_all(batch);  // its abort may have been killed
    const auto state = store_.change_state(batch, {BatchState::kComplete, BatchState::kAborted}, BatchState::kRetired,
                                           clock_.now_sec());
    if (!state) refuse_unknown(batch);
    if (*state != BatchState::kRetired)
        throw ConfigError(
            fmt::format("batch {}: it is {}: only a complete or aborted batch can be retired; sluice_batch abort "
                        "{} ends it, batch_upkeep finds out that it is complete",
                        batch, state_name(*state), batch));
    store_.count_as_assimilated(batch, unassimilated, BatchOwnerStore::OverBy::kAnything, clock_.now_sec());
    std::error_code failed;
    const auto folder = project / "results" / std::to_string(batch);
    std::filesystem::remove_all(folder, failed);
    if (failed)
        throw FileError(fmt::format("batch {}: it is retired, but {} can't be removed ({}): remove it by hand", batch,
                                    folder.string(), failed.message()));
}

void BatchCommands::cancel_all(Id batch) {
    for (std::optional<Id> after = 0; after;) after = store_.cancel_jobs(batch, *after, kCancelled, clock_.now_sec());
}

}  // namespace sluice
