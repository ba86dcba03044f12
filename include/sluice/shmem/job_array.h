#pragma once
// The job array: a Boost.Interprocess segment that one feeder writes and any number of schedulers read and claim
// from. The rules (ARCHITECTURE §7, docs/shared_memory.md): a scan takes no lock; a slot is read between two loads of
// its state word; a claim is one compare-and-swap; its owner is named through the owner table (pid + start time), so
// that the feeder may give a slot back only with proof of death; payload is written before the slot is PRESENT.
//
// A JobArray object belongs to one thread. Claims must end before it does.
//
// Hot data (JobSummary) and cold data (SlotDoc: XML of the workunit) are apart: memory is paid for the real length of
// the XML, a scan touches hot data only.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/base/error.h"
#include "sluice/base/process.h"
#include "sluice/model/job_summary.h"
#include "sluice/model/project_tables.h"

namespace sluice {

/// Which content of a slot is meant: the index, and the state word that was seen with it.
struct SlotRef {
    std::uint32_t index = 0;
    std::uint64_t word = 0;
};

enum class SlotState { kEmpty, kPresent, kClaimed };

/// Cold data of a slot. `wu_xml` is workunit.xml_doc as it stands in the database.
struct SlotDoc {
    std::string wu_name, wu_xml, keywords, result_name;
};

struct JobArrayName {
    std::string segment;              ///< from shmem_key: see job_array_name()
    std::filesystem::path lock_file;  ///< held by the feeder for its whole life; schedulers take no lock
};
/// Name of the segment for <shmem_key>, and the lock file in the project's folder. The name also carries a hash of
/// the project's path, so that two projects with one key do not share.
JobArrayName job_array_name(std::int64_t shmem_key, const std::filesystem::path& project);

class JobArray;

/// A claimed slot. Its destructor returns the slot to PRESENT; consume() empties it for good.
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
    /// Only while claimed: no other process writes the slot.
    SlotDoc doc() const;

  private:
    friend class JobArray;
    Claim(JobArray* array, std::uint32_t index, std::uint64_t word);
    JobArray* array_ = nullptr;
    std::uint32_t index_ = 0;
    std::uint64_t word_ = 0;
};

struct JobArraySettings {
    std::uint32_t slots = 100;
    std::uint32_t owners = 4096;  ///< processes that may hold claims at one time, at most 65535
    std::uint64_t first_doc_bytes = std::uint64_t{256} << 10;  ///< first size of the pool of cold data; it grows
    int mode = 0660;  ///< permissions of the segment for its owner and its owner's group
    /// Accounts that the web server may run under: they get access too, by an access control list, by group, or, where
    /// neither is possible, by mode 0666. Names that this machine does not know are passed over.
    std::vector<std::string> users;
    std::function<void(const char* point)> test_hook;  ///< called at named points; for tests
};

struct JobArrayStats {
    std::uint32_t slots = 0, present = 0, claimed = 0, empty = 0;
    std::uint64_t segment_bytes = 0, doc_bytes_used = 0, doc_bytes_total = 0;
    std::uint64_t claims_lost = 0;      ///< compare-and-swaps that another scheduler won
    std::uint64_t reclaimed = 0;        ///< slots given back after their owner's death
    std::int64_t feeder_heartbeat = 0;  ///< UNIX seconds
    ProcessId feeder;
    std::uint64_t table_generation = 0;
    bool ready = false;
};

/// There is no segment, or its feeder has only begun to make it: it will pass when the feeder runs.
class FeederNotRunning : public ShmemError {
  public:
    using ShmemError::ShmemError;
};

class JobArray {
  public:
    ~JobArray();
    JobArray(const JobArray&) = delete;

    // Feeder ---------------------------------------------------------------------------------------------------
    /// Removes what a dead feeder left and makes a new segment, not ready. Throws ShmemError if a live feeder owns
    /// one (names its pid) or the segment can't be made (says how much memory it needs).
    static std::unique_ptr<JobArray> create(const JobArrayName& name, const JobArraySettings& settings);
    /// Writes an EMPTY slot; false if it is not empty or the cold data do not fit even after growing. infeasible_count
    /// starts at 1 for a job that is committed to an HR class (upstream behaviour).
    bool publish(std::uint32_t index, const JobSummary& job, const SlotDoc& doc);
    /// Empties a PRESENT slot (the caller saw `ref`); false if it was claimed or changed meanwhile.
    bool withdraw(const SlotRef& ref);
    /// Returns claims of dead owners to PRESENT; the number.
    int reclaim_dead_claims();
    void set_ready(bool ready);
    void heartbeat(std::int64_t now);
    /// Publishes a new generation of the tables; readers keep the one they hold.
    void publish_tables(const ProjectTables& tables);
    /// Marks the segment closed (schedulers see "feeder not running") and removes its name.
    void close_and_remove();
    /// Only the mark: for a segment that its successor is about to replace.
    void mark_closed();
    /// Sleeps until a slot was consumed since the last call or `seconds` passed (a futex or a short poll; no lock).
    bool wait_for_consumption(double seconds);
    /// Why the last publish() got no memory for the cold data; empty: it had enough.
    const std::string& growth_error() const;
    /// Who may attach, as a phrase for the log.
    const std::string& access_note() const;

    // Scheduler ------------------------------------------------------------------------------------------------
    /// Throws FeederNotRunning; ShmemError: other layout (names both sides' layout and sizes), no
    /// permission. Does not wait for readiness.
    static std::unique_ptr<JobArray> attach(const JobArrayName& name);
    /// For show_shmem and explain: never claims, needs read permission only.
    static std::unique_ptr<JobArray> attach_read_only(const JobArrayName& name);
    /// A feeder completed its first fill, was not closed, and this segment is still the one that the name leads to.
    bool ready() const;
    /// False once the feeder made a new segment or closed this one: attach anew.
    bool current() const;
    std::shared_ptr<const ProjectTables> tables() const;

    std::uint32_t size() const;
    /// Consistent copy of slot `index`. kPresent: `job` and `ref` are set. kClaimed also covers a slot being written.
    SlotState read(std::uint32_t index, JobSummary& job, SlotRef& ref) const;
    /// The state alone.
    SlotState state(std::uint32_t index) const;
    /// nullopt: someone else was quicker, or the content changed.
    std::optional<Claim> claim(const SlotRef& ref);
    /// A copy of the cold data of a slot that is not claimed; nullopt if it changed while being read.
    std::optional<SlotDoc> peek_doc(const SlotRef& ref) const;
    /// The job turned out to be committed to another HR class or app version (upstream's infeasible count; scored).
    void note_infeasible(const SlotRef& ref);
    std::uint32_t infeasible_count(std::uint32_t index) const;
    /// A host that looked at this job could not take it (rotation and starvation report; a sample, never scored).
    void note_passed_over(const SlotRef& ref);
    std::uint32_t passed_over_count(std::uint32_t index) const;
    /// When the feeder's heartbeat stood as the present content was first passed over; 0 = never.
    std::int64_t first_passed_over(std::uint32_t index) const;
    /// Who holds a claimed slot; nullopt: nobody.
    std::optional<ProcessId> owner_of_slot(std::uint32_t index) const;

    JobArrayStats stats() const;

    /// Called at named points ("registered", "claimed", "consumed" …); for tests that kill processes there.
    void set_test_hook(std::function<void(const char* point)> hook);

  private:
    friend class Claim;
    struct Impl;
    static std::unique_ptr<JobArray> open(const JobArrayName& name, bool writable);
    explicit JobArray(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace sluice
