// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include "db/memory/memory_db.h"
#include "sluice/db/batch_store.h"
#include "sluice/model/batch.h"
#include "sluice/model/catalogue.h"

namespace sluice {

/// BatchUpkeepStore over a MemoryDb.
class MemoryBatchUpkeepStore final : public BatchUpkeepStore {
  public:
    explicit MemoryBatchUpkeepStore(MemoryDb& db) : db_(db) {}
    std::vector<Batch> in_progress(std::int64_t now) override;
    std::optional<Batch> batch(Id id) override;
    std::vector<BatchProgress> progress(std::span<const Id> batches) override;
    std::int64_t write(std::span<const BatchChange> changes) override;

  private:
    MemoryDb& db_;
};

class MemoryBatchStatsStore final : public BatchStatsStore {
  public:
    explicit MemoryBatchStatsStore(MemoryDb& db) : db_(db) {}
    std::vector<MeasuredBatch> batches(Id from, std::int64_t created_after) override;
    void results(const ResultSelection& selection, const std::function<void(const ResultTimes&)>& row) override;
    void open_results(std::span<const Id> apps, const std::function<void(Id, ServerState)>& row) override;
    Id last_result_id() override;
    std::vector<App> apps() override;
    std::map<Id, double> flagged_hosts(std::span<const Id> among) override;
    void apply(const StatsWrite& write) override;

  private:
    MemoryDb& db_;
};

class MemoryHostLttStore final : public HostLttStore {
  public:
    explicit MemoryHostLttStore(MemoryDb& db) : db_(db) {}
    std::vector<VersionTurnaround> of_host(Id host) override;
    void all(const std::function<void(const VersionTurnaround&)>& row) override;
    void write(std::span<const VersionTurnaround> rows, std::span<const std::pair<Id, Id>> gone) override;

  private:
    MemoryDb& db_;
};

class MemoryBatchAccelStore final : public BatchAccelStore {
  public:
    explicit MemoryBatchAccelStore(MemoryDb& db) : db_(db) {}
    std::vector<App> apps() override;
    void prepare() override {}
    std::map<Id, int> accelerated_batches() override;
    std::vector<OpenJob> open_jobs(Id batch, Id after, int limit) override;
    std::optional<double> mean_turnaround(Id batch) override;
    void apply(const AccelWrite& write) override;
    void forget(std::span<const Id> batches) override;

  private:
    bool is_open(Id workunit) const;
    void restore(Id workunit);
    void lower(Id workunit);
    void mark(const AccelWrite& write);
    void mark_results(const AccelWrite& write);
    void ask_for_more(const AccelWrite& write);
    MemoryDb& db_;
};

}  // namespace sluice
