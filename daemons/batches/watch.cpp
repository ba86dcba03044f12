// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batches/watch.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "daemons/batches/watch_plan.h"
#include "sluice/base/log.h"
#include "sluice/base/text.h"
#include "sluice/daemon/daemon.h"

namespace sluice {

Turn WatchService::turn() {
    const double started = clock_.now();
    noted_ = 0;
    if (!settings_.dry_run && !prepared_) stores_.watch.prepare(), prepared_ = true;
    std::vector<WatchedBatch> watched = stores_.watch.watched();
    std::ranges::move(stores_.watch.begin(clock_.now_sec(), !settings_.dry_run), std::back_inserter(watched));
    const EtaFactors factors = stores_.plans.eta_factors();
    std::erase_if(look_at_, [&](const auto& entry) {
        return std::ranges::none_of(watched, [&](const WatchedBatch& w) { return w.row.id == entry.first; });
    });
    look_until_ = started + kLongestLook;
    // Those that were not looked at for longest come first: time may not suffice for all.
    std::ranges::stable_sort(watched, {}, [&](const WatchedBatch& w) { return look_at_[w.row.id]; });
    for (WatchedBatch& batch : watched) {
        if (stop_requested()) return idle();
        look_after(batch, factors);
    }
    log_at(noted_ > 0 || settings_.one_pass ? LogLevel::kNormal : LogLevel::kDebug,
           "{}pass: {} batches watched, {} notes; {:.3f} s", dry_run_words(settings_.dry_run), watched.size(), noted_,
           clock_.now() - started);
    if (!settings_.dry_run) telling_.pass();
    return idle();
}

void WatchService::look_after(WatchedBatch& batch, const EtaFactors& factors) {
    if (batch.gone || batch.row.state == BatchState::kComplete || batch.row.state == BatchState::kRetired)
        return end(batch);
    if (batch.has(BatchEventKind::kStopped)) return stop(batch);  // this program was killed within
    if (batch.row.state == BatchState::kAborted) return end(batch);
    look_at_end(batch, factors);
    const double now = clock_.now();
    double& next = look_at_[batch.row.id];
    if (now < look_until_ && (next <= now || next > now + kLookAgain)) {
        look_at_outcomes(batch);
        next = batch.begun_well ? now + kLookAgain : now;
    }
}

void WatchService::look_at_end(WatchedBatch& batch, const EtaFactors& factors) {
    if (batch.promised <= 0) {
        batch.promised = promise_of(batch.row, clock_.now(), factors);
        if (batch.promised > 0 && !settings_.dry_run) stores_.watch.update(batch);
    }
    if (batch.has(BatchEventKind::kLate)) return;
    if (const auto text = late_text(batch, clock_.now(), factors)) note(batch, BatchEventKind::kLate, *text);
}

void WatchService::look_at_outcomes(WatchedBatch& batch) {
    const bool may_stop = settings_.stop_failing && !batch.begun_well;
    if (!may_stop && batch.has(BatchEventKind::kSlow)) return;
    const BatchOutcomes outcomes = stores_.watch.outcomes(batch.row.id);
    if (!batch.has(BatchEventKind::kSlow))
        if (const auto text = slow_text(outcomes)) note(batch, BatchEventKind::kSlow, *text);
    if (!batch.begun_well && outcomes.good > 0) {
        batch.begun_well = true;
        if (!settings_.dry_run) stores_.watch.update(batch);
    }
    if (!may_stop) return;
    const auto reason = reason_to_stop(batch.row.njobs, outcomes);
    if (!reason) return;
    note(batch, BatchEventKind::kStopped, *reason);
    if (!settings_.dry_run) stop(batch);
}

/// A stop is told when it has been carried out.
void WatchService::note(const WatchedBatch& batch, BatchEventKind kind, const std::string& says) {
    ++noted_;
    const std::string name = in_one_line(batch.row.name, 60);
    if (settings_.dry_run) {
        fmt::print("batch {} ({}): {}: {}\n", batch.row.id, name, event_name(kind), says);
        return;
    }
    // A late batch is no fault of the project's.
    log_at(kind == BatchEventKind::kLate ? LogLevel::kNormal : LogLevel::kWarning, "[batch#{} {}] {}: {}", batch.row.id,
           name, event_name(kind), says);
    const bool tell = telling_.settings().any() && kind != BatchEventKind::kStopped;
    stores_.watch.note({batch.row.id, kind, clock_.now_sec(), says}, tell);
}

void WatchService::stop(const WatchedBatch& batch) {
    if (settings_.dry_run) return;
    const auto state = ending_.abort(batch.row.id, app_assimilators(settings_.project, stores_.batches.apps()).none);
    if (state != BatchState::kAborted) return;  // it was complete by then, or is gone: the next pass ends it
    log_warning("[batch#{}] stopped: its unsent jobs are cancelled", batch.row.id);
    const BatchEvent last{batch.row.id, BatchEventKind::kStopped, clock_.now_sec(), ""};
    stores_.watch.end(batch.row.id, last, telling_.settings().any());
}

void WatchService::end(const WatchedBatch& batch) {
    const auto text = done_text(batch);
    if (settings_.dry_run) {
        if (text) fmt::print("batch {} ({}): done: {}\n", batch.row.id, in_one_line(batch.row.name, 60), *text);
        return;
    }
    std::optional<BatchEvent> last;
    if (text) last = BatchEvent{batch.row.id, BatchEventKind::kDone, clock_.now_sec(), *text};
    stores_.watch.end(batch.row.id, last, telling_.settings().any());
}

}  // namespace sluice
