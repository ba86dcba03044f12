// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <map>

#include "db/memory/memory_db.h"
#include "sluice/db/batch_plan_store.h"

namespace sluice {

class MemoryBatchPlanFactsStore final : public BatchPlanFactsStore {
  public:
    explicit MemoryBatchPlanFactsStore(MemoryDb& db) : db_(db) {}
    void hosts(const HostSelection& selection, const std::function<void(const HostSpeedRow&)>& row) override;
    std::vector<AppVersionUse> versions() override;
    std::vector<BatchDemandRow> demands(std::span<const Id> batches) override;
    void open_results(std::span<const Id> batches, const std::function<void(const OpenBatchResult&)>& row) override;
    std::vector<ReturnedBatchResult> returned(std::span<const Id> results) override;
    std::vector<LeftOutHost> failing_hosts(std::span<const Id> batches) override;
    std::vector<Id> gang_batches(std::span<const Id> batches) override;
    NewestIds newest() override;

  private:
    MemoryDb& db_;
};

class MemoryBatchPlanStore final : public BatchPlanStore {
  public:
    explicit MemoryBatchPlanStore(MemoryDb& db) : db_(db) {}
    void prepare() override {}
    BatchPlan plan() override;
    BatchPlan plan_for_schedulers() override;
    void note_submission(Id batch, double now) override { submissions_[batch] = now; }
    void forget_submissions(std::span<const Id> batches, double now) override;
    std::int64_t publish(const BatchPlan& plan, std::span<const std::pair<Id, double>> completions) override;
    EtaFactors eta_factors() override { return eta_factors_; }
    void keep_eta_factors(const EtaFactors& factors) override { eta_factors_ = factors; }
    std::vector<ReissueTimer> timers() override;
    void set_timers(std::span<const ReissueTimer> add, std::span<const Id> remove) override;
    std::int64_t give_up(std::span<const OpenBatchResult> results, std::int64_t now, bool also_the_last) override;
    std::int64_t copy(std::span<const OpenBatchResult> results, std::int64_t now) override;
    std::vector<CopiedJob> copied(std::span<const Id> batches) override;

  private:
    MemoryDb& db_;
    EtaFactors eta_factors_;
    std::map<Id, Id> copies_;           ///< sluice_plan_copy: workunit -> batch
    std::map<Id, double> submissions_;  ///< sluice_plan_submission: batch -> when it was heard of
};

}  // namespace sluice
