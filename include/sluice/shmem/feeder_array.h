// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The job array as the feeder has it: the only type that publishes. It believes no word that others may write: sizes,
// places and generations are its own, in private memory.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sluice/shmem/job_array.h"

namespace sluice {

/// /dev/shm is full: what failed may work later.
class NoSharedMemory : public ShmemError {
  public:
    using ShmemError::ShmemError;
};

struct JobArraySettings {
    std::uint32_t slots = 100;
    std::uint32_t owners = 4096;  ///< processes that may hold claims at one time, at most 65535
    std::uint64_t first_doc_bytes = std::uint64_t{256} << 10;  ///< first size of the pool of cold data; it grows
    /// Accounts that the web server may run under: they get access too, by an access control list, by group, or, where
    /// neither is possible, with everybody else. Names that this machine does not know are passed over.
    std::vector<std::string> users;
    std::function<void(const char* point)> test_hook;  ///< called at named points; for tests
};

class FeederArray final : public JobArray {
  public:
    /// Removes what a dead feeder left and makes a new segment, not ready. Throws ShmemError if a live feeder owns
    /// one (names its pid) or the segment can't be made (says how much memory it needs).
    static std::unique_ptr<FeederArray> create(const JobArrayName& name, const JobArraySettings& settings);
    ~FeederArray() override;

    /// Writes an EMPTY slot; false if it is not empty or the cold data do not fit even after growing. infeasible_count
    /// starts at 1 for a job that is committed to an HR class (upstream behaviour).
    bool publish(std::uint32_t index, const JobSummary& job, const SlotDoc& doc);
    /// Empties a PRESENT slot (the caller saw `ref`); false if it was claimed or changed meanwhile.
    bool withdraw(const SlotRef& ref);
    /// Returns claims of dead owners to PRESENT; the number. Also empties slots whose state word is none that our
    /// programs write: see JobArrayStats::mended.
    int reclaim_dead_claims();
    void set_ready(bool ready);
    void heartbeat(std::int64_t now);
    /// Publishes a new generation of the tables; readers keep the one they hold.
    void publish_tables(const ProjectTables& tables);
    /// Marks the segment closed (schedulers see "feeder not running"), removes its name, and gives its memory back,
    /// also where a scheduler still has it mapped, unless a living one holds a claim for more than a second.
    void close_and_remove();
    /// Sleeps until a slot was consumed since the last call or `seconds` passed (a futex; no lock).
    bool wait_for_consumption(double seconds);
    /// Why the last publish() got no memory for the cold data; empty: it had enough.
    const std::string& growth_error() const;
    /// Who may attach, as a phrase for the log.
    const std::string& access_note() const;

  private:
    struct Own;
    FeederArray(std::unique_ptr<Impl> impl, std::unique_ptr<Own> own);
    static void remove_left_over(const JobArrayName& name);
    static void end_left_over(const JobArrayName& name, const std::string& segment);
    void make(const JobArraySettings& settings);
    std::unique_ptr<Own> own_;
};

}  // namespace sluice
