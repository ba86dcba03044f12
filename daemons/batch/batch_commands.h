// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The verbs of sluice_batch but `submit`, over the stores. All throw ConfigError, which names the batch and what to do.
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "daemons/batch/batch_text.h"
#include "daemons/batches/shares_plan.h"
#include "sluice/base/clock.h"

namespace sluice {

/// Where the order by users' shares is kept, if it is.
struct SharesInUse {
    ShareStore& store;
    ShareSettings settings;
};

class BatchCommands {
  public:
    BatchCommands(BatchOwnerStore& store, BatchUpkeepStore& counts, std::optional<SharesInUse> shares,
                  const Clock& clock)
        : store_(store), counts_(counts), shares_(shares), clock_(clock) {}

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
    void cancel_all(Id batch);
    using InOrder = std::function<void(ShareBook&, const BatchWork&, double project_flops, double now)>;
    /// What state the batch is in then. With shares in one transaction with the order, on which `in_order` acts if the
    /// batch is in state `to` then and has jobs.
    BatchState set_state(Id batch, const std::vector<BatchState>& from, BatchState to, const InOrder& in_order);

    BatchOwnerStore& store_;
    BatchUpkeepStore& counts_;
    std::optional<SharesInUse> shares_;
    const Clock& clock_;
};

}  // namespace sluice
