// SPDX-License-Identifier: LGPL-3.0-or-later
#include "feeder/live_feeders.h"

namespace sluice {

FeederPart LiveFeeders::part(const std::vector<FeederLease>& leases, double now) {
    FeederPart part{0, 0};
    dead_.clear();
    std::map<std::string, Seen> seen;
    for (const FeederLease& lease : leases) {
        const auto before = seen_.find(lease.name);
        const bool unchanged =
            before != seen_.end() && before->second.beat == lease.beat && before->second.since <= now;
        const Seen& last = seen[lease.name] = unchanged ? before->second : Seen{lease.beat, now};
        if (lease.name == own_) {
            part.i = part.n;
        } else if (now - last.since >= kExpiry) {
            dead_.push_back(lease);
            continue;
        }
        ++part.n;
    }
    seen_ = std::move(seen);
    return part.n == 0 ? FeederPart{} : part;
}

}  // namespace sluice
