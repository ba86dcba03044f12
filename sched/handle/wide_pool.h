// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The job array, and behind its last slot the jobs that one RPC has found for itself (group_jobs.h). Those are
// nobody's: what keeps two RPCs from sending the same one is that only an UNSENT result can be sent.
#include <vector>

#include "sched/handle/rpc_services.h"

namespace sluice {

class WidePool final : public RpcJobPool {
  public:
    explicit WidePool(RpcJobPool& array) : array_(array) {}
    void add(const JobSummary& job, SlotDoc doc) { jobs_.push_back({job, std::move(doc), SlotState::kPresent}); }

    std::uint32_t size() const override { return array_.size() + extra(); }
    std::uint32_t extra() const override { return static_cast<std::uint32_t>(jobs_.size()); }
    SlotState read(std::uint32_t index, JobSummary& job, SlotRef& ref) const override;
    bool claim(const SlotRef& ref) override;
    void release(const SlotRef& ref) override;
    void discard(const SlotRef& ref) override;
    std::optional<std::string> workunit_xml(const SlotRef& ref) const override;
    std::string keywords(const SlotRef& ref) const override;
    void note_infeasible(const SlotRef& ref) override;
    void note_passed_over(const SlotRef& ref) override;
    bool any_present() const override { return array_.any_present(); }
    std::optional<SlotDoc> document(const SlotRef& ref) const override;
    void consume(const SlotRef& ref) override;
    /// Of the array's.
    void release_all() override { array_.release_all(); }

  private:
    struct Job {
        JobSummary job;
        SlotDoc doc;
        SlotState state = SlotState::kPresent;
    };
    /// Null: the slot is the array's.
    Job* own(const SlotRef& ref) { return ref.index < array_.size() ? nullptr : &jobs_[ref.index - array_.size()]; }
    const Job* own(const SlotRef& ref) const { return const_cast<WidePool*>(this)->own(ref); }

    RpcJobPool& array_;
    std::vector<Job> jobs_;
};

}  // namespace sluice
