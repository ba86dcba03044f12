#include "daemons/batch_shares/shares_pass.h"

#include "sluice/base/log.h"

namespace sluice {

ShareOutcome shares_pass(ShareStore& store, const ShareSettings& settings, const Clock& clock) {
    const double started = clock.now();
    store.prepare();
    const double flops = store.project_flops(started);
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

}  // namespace sluice
