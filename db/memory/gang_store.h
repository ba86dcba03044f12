// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include "db/memory/memory_db.h"
#include "sluice/db/batch_plan_store.h"

namespace sluice {

struct Workunit;

/// GangStore over a MemoryDb.
class MemoryGangStore final : public GangStore {
  public:
    explicit MemoryGangStore(MemoryDb& db) : db_(db) {}
    void prepare() override {}
    std::optional<int> size_in(Id batch) override;
    void define(std::span<const GangJob> jobs, int size) override;
    std::optional<GangFacts> find(const GangId& gang) override;
    std::vector<GangMemberInstance> instances(const GangId& gang, std::span<const int> members) override;
    GangHostStanding standing_of(Id host) override;
    std::optional<GangId> gang_of(const std::string& workunit_name) override;
    std::optional<GangsOfBatch> of_batch(Id batch) override;
    std::vector<GangWait> waiting(int most) override;
    void end(const GangId& gang, std::int64_t now) override;
    void remove(Id batch) override;

  private:
    MemoryDb& db_;
};

/// Finds a member's workunit among those of its gang's batch only, where every program puts it.
class MemoryGangLeaseStore : public GangLeaseStore {
  public:
    explicit MemoryGangLeaseStore(MemoryDb& db) : db_(db) {}
    void prepare() override {}
    std::int64_t version() override;
    std::vector<GangMemberRow> open_members(int most) override;
    std::vector<GangInstance> instances_of(std::span<const Id> workunits) override;
    std::vector<GangLease> leases() override;
    std::vector<GangHost> free_hosts(std::int64_t heard_since, int quota, int most) override;
    bool write_leases(std::span<const GangLease> keep, std::span<const GangLease> end, std::int64_t version) override;
    void note_waits(std::span<const GangWait> changed) override;
    std::vector<GangWait> waits() override;
    void give_up(const GangId& gang, std::span<const Id> workunits, std::int64_t now) override;

  private:
    void add_members(const GangId& id, const MemoryGang& gang, std::vector<GangMemberRow>& all);
    bool is_busy(const Workunit& w) const;
    void end_lease(const GangLease& lease);
    MemoryDb& db_;
};

}  // namespace sluice
