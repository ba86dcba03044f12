// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Which part of the unsent results is this feeder's, where several machines have one: as many equal parts as there are
// feeders that live. A feeder lives as long as its lease changes; nobody's clock is compared with another's.
#include <map>
#include <string>
#include <vector>

#include "sluice/db/feeder_lease_store.h"
#include "sluice/db/feeder_store.h"

namespace sluice {

class LiveFeeders {
  public:
    static constexpr double kRenewal = 3, kExpiry = 15;  ///< s
    /// `own`: the name of this feeder's lease.
    explicit LiveFeeders(std::string own) : own_(std::move(own)) {}
    const std::string& own() const { return own_; }
    /// `leases`: all that there are `now`, by name.
    FeederPart part(const std::vector<FeederLease>& leases, double now);
    /// Of that look: those whose feeders died.
    const std::vector<FeederLease>& dead() const { return dead_; }

  private:
    struct Seen {
        std::int64_t beat = 0;
        double since = 0;  ///< when it was first seen so
    };
    std::string own_;
    std::map<std::string, Seen> seen_;
    std::vector<FeederLease> dead_;
};

}  // namespace sluice
