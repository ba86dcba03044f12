// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The job array as a scheduler has it: reads all of it, writes claims and counts, and nothing else: the rest is mapped
// read-only, and the kernel refuses this account a writable one.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "sluice/shmem/job_array.h"

namespace sluice {

class SchedulerArray;

/// A claimed slot. Its destructor returns the slot to PRESENT; consume() empties it for good. Ends before its array.
class Claim {
  public:
    Claim(Claim&& other) noexcept;
    Claim& operator=(Claim&& other) noexcept;
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;
    ~Claim();
    std::uint32_t index() const { return index_; }
    void consume();
    void release();
    /// Only while claimed: no other process writes the slot. Throws ShmemError if it changed all the same.
    SlotDoc doc() const;

  private:
    friend class SchedulerArray;
    Claim(SchedulerArray* array, std::uint32_t index, std::uint64_t word);
    SchedulerArray* array_ = nullptr;
    std::uint32_t index_ = 0;
    std::uint64_t word_ = 0;
};

class SchedulerArray final : public JobArray {
  public:
    /// Throws as attach_read_only() does. Does not wait for readiness.
    static std::unique_ptr<SchedulerArray> attach(const JobArrayName& name);
    ~SchedulerArray() override;

    /// nullopt: someone else was quicker, or the content changed.
    std::optional<Claim> claim(const SlotRef& ref);
    /// The job turned out to be committed to another HR class or app version (upstream's infeasible count; scored).
    void note_infeasible(const SlotRef& ref);
    /// A host that looked at this job could not take it (rotation and starvation report; a sample, never scored).
    void note_passed_over(const SlotRef& ref);

    /// Called at named points ("registered", "claimed", "consumed" …); for tests that kill processes there.
    void set_test_hook(std::function<void(const char* point)> hook);

  private:
    friend class Claim;
    using JobArray::JobArray;
    void register_owner();
    void end_claim(const Claim& claim, bool consumed);
};

}  // namespace sluice
