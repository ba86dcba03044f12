// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include "db/memory/memory_db.h"
#include "sluice/db/size_store.h"
#include "sluice/model/catalogue.h"

namespace sluice {

/// SizeRegulatorStore over a MemoryDb.
class MemorySizeRegulatorStore final : public SizeRegulatorStore {
  public:
    explicit MemorySizeRegulatorStore(MemoryDb& db) : db_(db) {}
    std::optional<App> app(const std::string& name) override;
    std::vector<std::int64_t> release(Id appid, ReleaseOrder order, const Decide& decide) override;
    ReleasePlaces places(double now) override;
    std::map<int, std::int64_t> release_queues(Id appid, std::int64_t most, const DecideQueues& decide) override;
    void look_everywhere(Id) override {}
    std::map<int, std::int64_t> unsent(Id appid) override;
    std::map<int, std::int64_t> orphans(Id appid, int classes) override;
    std::int64_t reclassify(Id appid, int classes, int new_class, int limit) override;

  private:
    std::map<int, std::int64_t> unsent_now(Id appid) const;
    /// INACTIVE results of a class, in the order in which they are released.
    std::vector<Id> waiting(Id appid, int size_class, ReleaseOrder order) const;
    std::vector<Id> orphaned(Id appid, int classes, bool unsent_too) const;
    MemoryDb& db_;
};

class MemorySizeCensusStore final : public SizeCensusStore {
  public:
    explicit MemorySizeCensusStore(MemoryDb& db) : db_(db) {}
    std::vector<App> apps(bool all) override;
    void speeds(Id appid, double min_expavg_credit, bool anonymous,
                const std::function<void(const SpeedRecord&)>& row) override;

  private:
    MemoryDb& db_;
};

}  // namespace sluice
