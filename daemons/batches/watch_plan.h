// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What there is to say of a batch that is watched, and whether it is to be stopped. Pure.
#include <cstdint>
#include <optional>
#include <string>

#include "sluice/db/batch_watch_store.h"
#include "sluice/model/eta.h"

namespace sluice {

/// A batch is stopped if nothing of it has succeeded when so many instances have failed: a tenth of its jobs …
inline constexpr std::int64_t kLeastFailed = 10, kMostFailed = 1000;  ///< … and in any case so many
/// One host that is broken, or that somebody uses against a batch, stops none.
inline constexpr std::int64_t kLeastFailingHosts = 3;
/// A batch is slow if half of what came back, and of so many at least, took BatchOutcomes::kSlowFactor times its
/// estimate.
inline constexpr std::int64_t kLeastTimed = 5;

std::int64_t failures_that_stop(int jobs);
/// Why the batch is to be stopped; nullopt: it is not.
std::optional<std::string> reason_to_stop(int jobs, const BatchOutcomes& outcomes);
std::optional<std::string> slow_text(const BatchOutcomes& outcomes);

/// By when its ETA says that it is done: the end of the band of 80 %. 0: it has none that is to come.
double promise_of(const Batch& batch, double now, const EtaFactors& factors);
/// Its first ETA promised another end than it has now.
std::optional<std::string> late_text(const WatchedBatch& batch, double now, const EtaFactors& factors);

/// What the end of a batch is; nullopt: nothing to tell, as its owner has aborted it or somebody deleted it.
std::optional<std::string> done_text(const WatchedBatch& batch);

/// s after which what could not be told `tries` times is tried again.
std::int64_t wait_after(int tries);

}  // namespace sluice
