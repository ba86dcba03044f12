#pragma once
// The order of batches by their users' shares (seed 000): how far a batch's logical end time lies behind the least of
// those that could go to this host, in units of tau.
#include <algorithm>
#include <cstdint>
#include <limits>

#include "sluice/model/project_tables.h"

namespace sluice::match {

/// Within tau other reasons (files, sizes) may decide; a job that is further behind is not sent while the least can go.
inline constexpr double kShareTau = 6 * 3600.0;  ///< project-seconds
/// Value of a lag of tau. Beyond it the value is -1: by the default weight more than all other terms together.
inline constexpr double kValueAtTau = -0.1;

/// LET of a job's batch; NaN: it has none (no batch, or one that is not in progress).
inline double logical_end(const ProjectTables& tables, std::int32_t batch) {
    const auto found = tables.batch_shares.find(batch);
    return found == tables.batch_shares.end() ? std::numeric_limits<double>::quiet_NaN() : found->second.end;
}

/// In [-1,0]. A job without a logical end time is behind nobody.
inline double value_of_lag(double end, double least) {
    if (!(end > least)) return 0;
    const double lag = (end - least) / kShareTau;
    return lag <= 1 ? kValueAtTau * lag : -1;
}

}  // namespace sluice::match
