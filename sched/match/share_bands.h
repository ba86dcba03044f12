// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The order of batches by their users' shares (seed 000). It comes before every score, and it has no end: a band of
// batches follows the other, however far behind a batch is.
#include <cstdint>
#include <vector>

#include "sluice/model/project_tables.h"

namespace sluice::match {

/// Within tau of the least of its band, other reasons (files, sizes) may decide. A job of a later band waits while one
/// of an earlier band can be sent.
inline constexpr double kShareTau = 6 * 3600.0;  ///< project-seconds

/// Null: the job's batch has no place in the order (no batch, or one that is not in progress).
inline const BatchShare* share_of(const ProjectTables& tables, std::int32_t batch) {
    const auto found = tables.batch_shares.find(batch);
    return found == tables.batch_shares.end() ? nullptr : &found->second;
}

/// The first band begins with the least logical end time, and holds what is at most tau behind it. The next one begins
/// with the least of the rest, and so on. So an empty band leaves the order of the others as it was.
class ShareBands {
  public:
    /// Of the candidates, each with the share of its batch. `draw` in [0,1): the user at that part of the sum of their
    /// users' quotas goes first, with bands of his own; below 0: nobody is drawn.
    ShareBands(const std::vector<const BatchShare*>& candidates, double draw);
    struct Place {
        std::uint32_t band = 0;  ///< the least goes first
        double lag = 0;          ///< behind the least of the band, in units of tau: [0,1]
    };
    /// Of a candidate. A job whose batch has no place is behind nobody: it stands beside the least.
    Place place(const BatchShare* share) const;

  private:
    using Begins = std::vector<double>;  ///< logical end times at which the bands begin
    Id drawn_ = 0;                       ///< 0: nobody
    Begins drawn_begins_, begins_;
};

}  // namespace sluice::match
