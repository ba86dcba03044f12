// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The job array: shared memory that one feeder writes and any number of schedulers read and claim from. The rules
// (ARCHITECTURE §7, docs/shared_memory.md): a scan takes no lock; what a slot holds is read between two looks at its
// generation; a claim is one compare-and-swap; its owner is named through the owner table (pid + start time), so that
// the feeder may give a slot back only with proof of death; content is written before the slot is PRESENT.
//
// Three types, so that the compiler knows who may do what: JobArray reads, SchedulerArray (scheduler_array.h) claims,
// FeederArray (feeder_array.h) publishes. An object belongs to one thread.
//
// Hot data (JobSummary) and cold data (SlotDoc: XML of the workunit) are apart: memory is paid for the real length of
// the XML, a scan touches hot data only.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "sluice/base/error.h"
#include "sluice/base/process.h"
#include "sluice/model/job_summary.h"
#include "sluice/model/project_tables.h"

namespace sluice {

/// Cold data of a slot. `wu_xml` is workunit.xml_doc as it stands in the database.
struct SlotDoc {
    std::string wu_name, wu_xml, keywords, result_name;
};

/// Where the job array of a project and <shmem_key> is found. The segment's own name can't be guessed; it stands in
/// `publication`, in the project's folder, where only the project can write.
struct JobArrayName {
    std::int64_t shmem_key = 0;
    std::string prefix;                 ///< of the segment's name: key, and a hash of the project's path
    std::filesystem::path publication;  ///< PROJECT/job_array_HOST_KEY
    std::filesystem::path lock_file;    ///< held by the feeder for its whole life; schedulers take no lock
};
JobArrayName job_array_name(std::int64_t shmem_key, const std::filesystem::path& project);

struct JobArrayStats {
    std::uint32_t slots = 0, present = 0, claimed = 0, empty = 0;
    std::uint64_t segment_bytes = 0, doc_bytes_used = 0, doc_bytes_total = 0;
    std::uint64_t claims_lost = 0;      ///< compare-and-swaps that another scheduler won
    std::uint64_t reclaimed = 0;        ///< slots given back after their owner's death
    std::uint64_t mended = 0;           ///< state words that no program of ours writes, set to EMPTY by the feeder
    std::int64_t feeder_heartbeat = 0;  ///< UNIX seconds
    ProcessId feeder;
    std::uint64_t table_generation = 0;
    bool ready = false;
};

/// There is no segment, or its feeder has only begun to make it: the feeder ends that when it runs.
class FeederNotRunning : public ShmemError {
  public:
    using ShmemError::ShmemError;
};

class JobArray {
  public:
    virtual ~JobArray();
    JobArray(const JobArray&) = delete;

    /// For show_shmem and explain: needs read permission only. Throws FeederNotRunning; ShmemError: other layout
    /// (names both sides' layout and sizes), no permission, a segment or publication of an account that is not trusted.
    static std::unique_ptr<JobArray> attach_read_only(const JobArrayName& name);

    /// A feeder completed its first fill, was not closed, and this segment is still the one that the name leads to.
    bool ready() const;
    /// False once the feeder made a new segment or closed this one, or something damaged it: attach anew.
    bool current() const;
    /// The part of ready() that can be told without a system call, by who asks current() when files() change.
    bool open_and_filled() const;
    /// What current() looks at.
    std::vector<std::filesystem::path> files() const;
    std::shared_ptr<const ProjectTables> tables() const;

    std::uint32_t size() const;
    /// Consistent copy of slot `index`. kPresent: `job` and `ref` are set. kClaimed also covers a slot being written.
    SlotState read(std::uint32_t index, JobSummary& job, SlotRef& ref) const;
    /// The state alone.
    SlotState state(std::uint32_t index) const;
    /// Some slot is PRESENT, with content. Looks at state words until one is.
    bool any_present() const;
    /// A copy of the cold data of a slot that is not claimed; nullopt if it changed while being read.
    std::optional<SlotDoc> peek_doc(const SlotRef& ref) const;
    std::uint32_t infeasible_count(std::uint32_t index) const;
    std::uint32_t passed_over_count(std::uint32_t index) const;
    /// When the feeder's heartbeat stood as the present content was first passed over; 0 = never.
    std::int64_t first_passed_over(std::uint32_t index) const;
    /// Who holds a claimed slot; nullopt: nobody.
    std::optional<ProcessId> owner_of_slot(std::uint32_t index) const;

    JobArrayStats stats() const;
    /// The segment's name in /dev/shm.
    const std::string& segment() const;

  protected:
    struct Impl;
    explicit JobArray(std::unique_ptr<Impl> impl);
    static std::unique_ptr<Impl> open(const JobArrayName& name, bool claims_writable);
    std::unique_ptr<Impl> impl_;
};

}  // namespace sluice
