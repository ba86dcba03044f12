// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Feeders of several machines tell each other that they are there: a row each in `sluice_feeder`, a table of our own,
// that changes as long as its feeder lives.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sluice/db/database.h"

namespace sluice {

struct FeederLease {
    std::string name;       ///< of machine and project folder
    std::int64_t beat = 0;  ///< changes each time it is renewed
};

class FeederLeaseStore {
  public:
    virtual ~FeederLeaseStore() = default;
    /// Renews the lease of `name`, in one statement, and returns those of all feeders of that `kind` (which look for
    /// the same jobs), by name. Makes the table if it is not there. Throws DbError.
    virtual std::vector<FeederLease> renew(const std::string& name, const std::string& kind) = 0;
    /// Takes a lease away, unless it was renewed since.
    virtual void drop(const FeederLease& lease) = 0;
    /// Takes one's own away.
    virtual void give_back(const std::string& name) = 0;
};

/// `db` outlives the store.
std::unique_ptr<FeederLeaseStore> make_feeder_lease_store(Database& db);

}  // namespace sluice
