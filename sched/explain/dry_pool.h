// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The job array as it stands, for a dry run: a copy that is claimed from and never given back. Nothing in the segment
// changes, whichever processes work on it meanwhile.
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "sched/handle/rpc_services.h"

namespace sluice {

/// What the dry run is to look at; by default everything.
struct PoolFilter {
    Id app = 0;    ///< 0: all apps
    Id batch = 0;  ///< 0: all jobs
};

class DryJobPool final : public RpcJobPool {
  public:
    DryJobPool(const JobArray& array, PoolFilter filter);

    /// Of the array's jobs only this one.
    void show_only(Id result);
    /// A job that is not in the array, judged as if it were; its place is behind the last slot.
    void add_outsider(const JobSummary& job, SlotDoc doc);
    /// The feeder marks retries for reliable hosts; with another configuration others are.
    void mark_reliable(int reliable_on_priority);

    std::uint32_t slots_of_array() const { return slots_of_array_; }
    std::uint32_t shown() const;  ///< jobs of the array that pass the filter
    std::uint32_t jobs_in_array() const { return jobs_in_array_; }
    std::uint32_t locked() const { return locked_; }
    /// The slot that holds a result; nullopt: none does.
    std::optional<std::uint32_t> slot_of(Id result) const;

    std::uint32_t size() const override { return static_cast<std::uint32_t>(slots_.size()); }
    SlotState read(std::uint32_t index, JobSummary& job, SlotRef& ref) const override;
    bool claim(const SlotRef& ref) override;
    void release(const SlotRef& ref) override;
    std::optional<std::string> workunit_xml(const SlotRef& ref) const override;
    std::string keywords(const SlotRef& ref) const override;
    bool any_present() const override;
    std::optional<SlotDoc> document(const SlotRef& ref) const override;
    void consume(const SlotRef&) override {}
    void release_all() override;

    /// Ends a request: what it claimed stays claimed until so many more have ended, as slots that requests hold which
    /// are decided at the same time. 0: it is free at once.
    void hold_for(int requests);

  private:
    struct Slot {
        SlotState state = SlotState::kEmpty;
        JobSummary job;
        SlotRef ref;
        bool shown = false, claimed = false;
        std::optional<SlotDoc> doc;  ///< outsiders
    };
    const JobArray& array_;
    std::vector<Slot> slots_;
    std::vector<std::uint32_t> claimed_;           ///< places, of this request
    std::deque<std::vector<std::uint32_t>> held_;  ///< by earlier ones
    std::uint32_t slots_of_array_ = 0, jobs_in_array_ = 0, locked_ = 0;
};

}  // namespace sluice
