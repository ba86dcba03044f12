#pragma once
// The order of batches by their users' shares (seed 000): how far a batch's logical end time lies behind the least of
// those that could go to this host, in units of tau.
#include <cstdint>
#include <vector>

#include "sluice/model/project_tables.h"

namespace sluice::match {

/// Within tau other reasons (files, sizes) may decide; a job that is further behind is not sent while the least can go.
inline constexpr double kShareTau = 6 * 3600.0;  ///< project-seconds
/// Value of a lag of tau. Beyond it the value is -1: by the default weight more than all other terms together.
inline constexpr double kValueAtTau = -0.1;

/// Null: the job's batch has no place in the order (no batch, or one that is not in progress).
inline const BatchShare* share_of(const ProjectTables& tables, std::int32_t batch) {
    const auto found = tables.batch_shares.find(batch);
    return found == tables.batch_shares.end() ? nullptr : &found->second;
}

class LagOrder {
  public:
    /// Of the candidates, each with the share of its batch. `draw` in [0,1): the user at that part of the sum of their
    /// users' quotas goes first; below 0: nobody is drawn.
    LagOrder(const std::vector<const BatchShare*>& candidates, double draw);
    /// In [-1,1]; above 0 of the drawn user's jobs only. A job whose batch has no place is behind nobody.
    double value(const BatchShare* share) const;

  private:
    Id drawn_ = 0;  ///< 0: nobody
    double least_, least_of_drawn_;
};

}  // namespace sluice::match
