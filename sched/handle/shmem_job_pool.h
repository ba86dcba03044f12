// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <unordered_map>

#include "sched/handle/rpc_services.h"
#include "sluice/shmem/scheduler_array.h"

namespace sluice {

/// The shared job array as a pool. One RPC at a time; claims are kept until consume(), release() or release_all().
class ShmemJobPool final : public RpcJobPool {
  public:
    explicit ShmemJobPool(SchedulerArray& array) : array_(array) {}
    std::uint32_t size() const override { return array_.size(); }
    SlotState read(std::uint32_t index, JobSummary& job, SlotRef& ref) const override {
        return array_.read(index, job, ref);
    }
    bool claim(const SlotRef& ref) override;
    void release(const SlotRef& ref) override;
    void discard(const SlotRef& ref) override { consume(ref); }
    std::optional<std::string> workunit_xml(const SlotRef& ref) const override;
    std::string keywords(const SlotRef& ref) const override;
    void note_infeasible(const SlotRef& ref) override { array_.note_infeasible(ref); }
    void note_passed_over(const SlotRef& ref) override { array_.note_passed_over(ref); }
    bool any_present() const override;
    std::optional<SlotDoc> document(const SlotRef& ref) const override;
    void consume(const SlotRef& ref) override;
    void release_all() override { claims_.clear(); }

  private:
    SchedulerArray& array_;
    std::unordered_map<std::uint32_t, Claim> claims_;
};

}  // namespace sluice
