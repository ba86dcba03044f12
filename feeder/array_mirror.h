// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What the feeder itself put into each slot, in its own memory. It answers in O(1) whether a result is in the array; a
// look at the slots shows which were taken.
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "feeder/backlog.h"
#include "feeder/picker.h"
#include "sluice/shmem/job_array.h"

namespace sluice {

struct HeldJob {
    QueuedJob queued;
    double since = 0;
    // As published: compared with the database now and then.
    std::int64_t wu_priority = 0;
    int hr_class = 0, size_class = -1;
    Id app_version_id = 0;
    bool held = false;
    std::uint32_t discounted_looks = 0;  ///< of the array's passed_over_count(): see restart_looks()

    /// The line of jobs that it can change places with: its app (--allapps) and HR class (<hr_allocate_slots>).
    StreamKey line() const { return {queued.stream.app, 0, 0, queued.stream.hr_class}; }
};

class ArrayMirror {
  public:
    explicit ArrayMirror(std::size_t slots) : jobs_(slots) {}

    bool holds(Id result) const { return slot_of_.count(result) != 0; }
    std::size_t size() const { return jobs_.size(); }
    std::size_t held() const { return slot_of_.size(); }
    const HeldJob& at(std::size_t slot) const { return jobs_[slot]; }
    void set(std::size_t slot, const HeldJob& job);
    HeldJob clear(std::size_t slot);
    /// Slots that are EMPTY in the array though a job was put there, cleared here; what they held.
    std::vector<HeldJob> notice_taken(const JobArray& array);
    std::vector<std::uint32_t> empty_slots() const;
    /// How many hosts looked at the job in a slot and could not take it: a sample. It counts since the job was put
    /// there, or since its line's last restart_looks().
    std::uint32_t looks(std::size_t slot, const JobArray& array) const;
    /// A job of the line that was put into the array at `since` was taken. So the line flows, unless more than three
    /// quarters of it have been there for longer. Then a few slots flow past jobs that may all be stuck.
    void restart_looks(const StreamKey& line, double since, const JobArray& array);
    /// What these slots hold.
    ArrayShares shares(std::span<const std::uint32_t> slots) const;

  private:
    std::vector<HeldJob> jobs_;
    std::unordered_map<Id, std::size_t> slot_of_;
};

// The job array as people look at it: a dump, a table by app, size class, HR class and age, or JSON. Never claims.

struct SlotView {
    std::uint32_t slot = 0;
    SlotState state = SlotState::kEmpty;
    JobSummary job;   ///< while PRESENT
    ProcessId owner;  ///< while claimed; pid 0: not known
    std::uint32_t infeasible = 0, passed_over = 0;
};

struct ArrayView {
    std::string segment;
    JobArrayStats stats;
    bool current = false, feeder_alive = false;
    std::shared_ptr<const ProjectTables> tables;
    std::vector<SlotView> slots;
    std::int64_t now = 0;
    std::vector<std::string> triggers;  ///< stop_sched and the like, a line each
};

ArrayView look_at_array(const JobArray& array, std::int64_t now);
std::string dump_text(const ArrayView& view);
/// One line for each app x size class x HR class, with the number of jobs by age.
std::string shape_text(const ArrayView& view);
std::string array_json(const ArrayView& view);

}  // namespace sluice
