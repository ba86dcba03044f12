#pragma once
#include <unordered_map>

#include "rpc_services.h"
#include "sluice/shmem/scheduler_array.h"

namespace sluice {

/// The shared job array as a pool. One RPC at a time; claims are kept until consume(), release() or release_all().
class ShmemJobPool final : public RpcJobPool {
  public:
    explicit ShmemJobPool(SchedulerArray& array) : array_(array) {}
    std::uint32_t size() const override { return array_.size(); }
    PoolSlot read(std::uint32_t index, JobSummary& job, PoolRef& ref) const override;
    bool claim(const PoolRef& ref) override;
    void release(const PoolRef& ref) override;
    void discard(const PoolRef& ref) override { consume(ref); }
    std::optional<std::string> workunit_xml(const PoolRef& ref) const override;
    std::string keywords(const PoolRef& ref) const override;
    void note_infeasible(const PoolRef& ref) override { array_.note_infeasible({ref.index, ref.generation}); }
    void note_passed_over(const PoolRef& ref) override { array_.note_passed_over({ref.index, ref.generation}); }
    bool any_present() const override;
    std::optional<SlotDoc> document(const PoolRef& ref) const override;
    void consume(const PoolRef& ref) override;
    void release_all() override { claims_.clear(); }

  private:
    SchedulerArray& array_;
    std::unordered_map<std::uint32_t, Claim> claims_;
};

}  // namespace sluice
