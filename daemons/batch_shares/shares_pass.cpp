#include "daemons/batch_shares/shares_pass.h"

#include "sluice/base/log.h"

namespace sluice {

ShareOutcome shares_pass(ShareStore& store, const ShareSettings& settings, const Clock& clock) {
    const double started = clock.now();
    store.prepare();
    const double flops = flops_of(store.project_speed(started), started);
    // Results are read before the clock is locked: a pass over millions of them keeps no submission waiting.
    const auto works = store.works(started);
    ShareOutcome done;
    store.change(settings, started, [&](ShareBook& book) { done = settle_all(book, works, flops, started); });
    for (const Id batch : done.without_quota)
        log_debug("[batch#{}] its user has no quota (user_submit.quota): its jobs come after all others", batch);
    log_at(
        done.any() ? LogLevel::kNormal : LogLevel::kDebug,
        "pass: {} batches at {:.3g} FLOPS of the project; {} admitted, {} taken over, {} settled, {} over, {} streams "
        "charged, {} without a quota; {:.3f} s",
        works.size(), flops, done.admitted, done.adopted, done.settled, done.finished, done.streams,
        done.without_quota.size(), clock.now() - started);
    return done;
}

ShareOutcome admission_pass(ShareStore& store, const ShareSettings& settings, const Clock& clock) {
    const double now = clock.now();
    ShareOutcome done;
    std::vector<BatchWork> works;
    for (const Id batch : store.without_place()) {
        const std::vector<BatchWork> one = store.works(now, batch);
        works.insert(works.end(), one.begin(), one.end());
    }
    if (works.empty()) return done;
    const double flops = flops_of(store.project_speed(now), now);
    store.change(settings, now, [&](ShareBook& book) { done = admit_all(book, works, flops, now); });
    log_at(done.any() ? LogLevel::kNormal : LogLevel::kDebug, "{} new batches admitted, {} taken over", done.admitted,
           done.adopted);
    return done;
}

SharesTurns::Turn SharesTurns::take() {
    const double now = clock_.now();
    Turn turn{passes_.due(now), {}};
    if (!turn.pass && !looks_.due(now)) return turn;
    turn.done = (turn.pass ? shares_pass : admission_pass)(store_, settings_, clock_);
    if (turn.pass) passes_.restart(now);
    looks_.restart(now);
    return turn;
}

}  // namespace sluice
