// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What census asks of the database: the hosts at work, with what their HR classes are made of.
#include <functional>
#include <memory>
#include <string>

#include "sluice/db/database.h"

namespace sluice {

struct Host;

class HrCensusStore {
  public:
    virtual ~HrCensusStore() = default;
    /// Streams os_name, p_vendor, p_model and expavg_credit of the hosts with more recent credit than that; with the
    /// platform of the newest version that the host was sent, if it is asked for and there is one.
    using Row = std::function<void(const Host&, const std::string& platform)>;
    virtual void hosts(double min_expavg_credit, bool with_platforms, const Row& row) = 0;
};

/// `db` outlives the store.
std::unique_ptr<HrCensusStore> make_hr_census_store(Database& db);

}  // namespace sluice
