// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Jobs of a file go into a batch, a thousand in one transaction. It may be run again after it was killed. A job's name
// is made of the batch, the line's number and its content; jobs that exist already stay as they are.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <istream>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "daemons/batch/batch_text.h"
#include "daemons/batches/ending.h"
#include "daemons/gang_hub/gang_token.h"
#include "daemons/work/job_maker.h"
#include "sluice/base/clock.h"
#include "sluice/db/batch_plan_store.h"
#include "sluice/db/work_store.h"
#include "sluice/model/catalogue.h"
#include "sluice/model/job.h"

namespace sluice {

struct SubmissionOutcome {
    std::size_t inserted = 0, present = 0;  ///< jobs; present: of an earlier run
    std::size_t all() const { return inserted + present; }
};

/// "batch_12_340_1a2b3c4d".
std::string job_name(Id batch, std::int64_t line, const std::string& text);

/// 0: not known.
std::uint64_t bytes_of_file(const std::string& file);

/// Each `size` jobs that follow each other are a gang (docs/gangs.md).
struct GangsToMake {
    GangStore& store;
    int size = 0;             ///< 0: its jobs are no gangs
    std::string secret, hub;  ///< of the project's tokens; HOST:PORT

    static constexpr int kMost = 1000;  ///< members
};

class Submission {
  public:
    static constexpr std::size_t kChunk = 1000;             ///< jobs of a transaction
    static constexpr std::size_t kLongestLine = 64 * 1024;  ///< bytes

    /// `defaults`: what all jobs have in common; its batch is the one to submit into.
    Submission(JobMaker& maker, WorkStore& store, const JobOptions& defaults, GangsToMake gangs)
        : maker_(maker), store_(store), defaults_(defaults), gangs_(std::move(gangs)) {}

    /// `note` is called before each job is prepared, and before each chunk is inserted, for a batch that is not in
    /// progress yet.
    void note_jobs_to_come(std::function<void()> note) { note_ = std::move(note); }

    /// `progress` is called after each chunk with the bytes read and the jobs there are. Throws ConfigError, which
    /// names the batch and, where one is wrong, the line; whole chunks before it are in the batch then.
    SubmissionOutcome run(std::istream& in, const std::function<void(std::uint64_t, std::size_t)>& progress);

  private:
    void add(const std::string& text, std::int64_t line);
    GangSeat next_seat() const;
    /// Jobs of a transaction: whole gangs.
    std::size_t chunk() const;
    void refuse_part_of_a_gang() const;
    void refuse_other_gangs() const;
    void flush();
    std::string so_far() const;

    JobMaker& maker_;
    WorkStore& store_;
    JobOptions defaults_;
    std::vector<Workunit> workunits_;
    std::vector<JobRows> rows_;
    GangsToMake gangs_;
    std::vector<GangJob> gang_jobs_;  ///< of workunits_
    std::int64_t jobs_ = 0;           ///< of the file up to now
    SubmissionOutcome outcome_;
    std::size_t of_earlier_runs_ = 0;
    bool takes_jobs_ = false;  ///< the batch is not in progress yet
    std::function<void()> note_;
};

// The verbs of sluice_batch but `submit`, over the stores. All throw ConfigError, which names the batch and what to do.

class BatchCommands {
  public:
    BatchCommands(BatchOwnerStore& store, BatchUpkeepStore& counts, std::optional<SharesInUse> shares,
                  const Clock& clock)
        : store_(store), counts_(counts), ending_(store, std::move(shares), clock), clock_(clock) {}

    /// `app_id` is there. `name` empty: made of app and time. The new batch's id.
    Id create(const OwnedBatch& batch);
    std::vector<BatchView> list(const BatchFilter& filter);
    BatchView show(Id batch);
    /// Ends the submission: the batch is in progress, and has its place in the order. What it was already (complete,
    /// aborted …) it stays.
    struct Started {
        BatchState state = BatchState::kInit;
        bool without_quota = false;  ///< shares are on, and its user has none
    };
    Started start(Id batch);
    /// `batch` takes the place of `before` in the order of their user's batches.
    void move(Id batch, Id before);
    std::vector<App> apps() { return store_.apps(); }
    using Apps = std::span<const Id>;
    /// No job of it is sent any more; may be given again if it was killed. The number of its workunits is not known: it
    /// returns when all are cancelled. Nobody assimilates those of `unassimilated` apps: what was cancelled of them
    /// is finished.
    void abort(Id batch, Apps unassimilated);
    /// Only of what is over. Removes PROJECT/results/BATCH. All jobs of `unassimilated` apps are finished.
    void retire(Id batch, const std::filesystem::path& project, Apps unassimilated);

    OwnedBatch find(Id batch);

  private:
    /// BatchEnding::set_state().
    BatchState set_state(Id batch, const std::vector<BatchState>& from, BatchState to,
                         const BatchEnding::InOrder& in_order);

    BatchOwnerStore& store_;
    BatchUpkeepStore& counts_;
    BatchEnding ending_;
    const Clock& clock_;
};

}  // namespace sluice
