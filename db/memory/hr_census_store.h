// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include "db/memory/memory_db.h"
#include "sluice/db/hr_census_store.h"

namespace sluice {

/// HrCensusStore over a MemoryDb.
class MemoryHrCensusStore final : public HrCensusStore {
  public:
    explicit MemoryHrCensusStore(MemoryDb& db) : db_(db) {}
    void hosts(double min_expavg_credit, bool with_platforms, const Row& row) override;

  private:
    std::string platform_of(Id host) const;
    MemoryDb& db_;
};

}  // namespace sluice
