// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Recorded requests decided by two configurations, each on the state of its moment.
#include "sched/shadow/comparison.h"

namespace sluice {

/// `a` and `b` are the same project, decided by two files. Their outcomes stand for theirs and ours. Throws Error,
/// DbError.
Comparison compare_configurations(LiveProject& a, LiveProject& b, const std::vector<RpcFile>& files,
                                  const ComparisonOptions& options);

}  // namespace sluice
