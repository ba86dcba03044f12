// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// How a batch changes its state where users' shares order batches, and how it is aborted: by its owner (sluice_batch)
// or because its jobs fail (batch_watch).
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemons/batches/shares_plan.h"
#include "sluice/base/clock.h"
#include "sluice/db/batch_store.h"
#include "sluice/db/share_store.h"
#include "sluice/model/catalogue.h"

namespace sluice {

/// Where the order by users' shares is kept, if it is.
struct SharesInUse {
    ShareStore& store;
    ShareSettings settings;
};

class BatchEnding {
  public:
    /// All outlive it.
    BatchEnding(BatchOwnerStore& store, std::optional<SharesInUse> shares, const Clock& clock)
        : store_(store), shares_(std::move(shares)), clock_(clock) {}

    using InOrder = std::function<void(ShareBook&, const BatchWork&, double project_flops, double now)>;
    /// From one of `from` to `to`. What state the batch is in then; nullopt: there is none. With shares in one
    /// transaction with the order, on which `in_order` acts if the batch is in state `to` then and has jobs.
    std::optional<BatchState> set_state(Id batch, const std::vector<BatchState>& from, BatchState to,
                                        const InOrder& in_order);
    /// A batch that is new or in progress, or whose abort was killed: no job of it is sent any more. Nobody assimilates
    /// those of `unassimilated` apps: what was cancelled of them is finished. If the state that is returned is not
    /// kAborted, nothing was done.
    std::optional<BatchState> abort(Id batch, std::span<const Id> unassimilated);
    /// A thousand workunits a transaction; it returns when all are cancelled.
    void cancel_all(Id batch);

    const std::optional<SharesInUse>& shares() const { return shares_; }

  private:
    BatchOwnerStore& store_;
    std::optional<SharesInUse> shares_;
    const Clock& clock_;
};

// Who finishes the jobs of a batch that is over: an assimilator of config.xml, or the program that ends the batch.

struct AppAssimilators {
    std::vector<Id> none;           ///< apps without one: the program finishes their jobs
    std::vector<std::string> idle;  ///< names of the apps whose assimilators are all disabled: their jobs wait
};
/// As config.xml says. Where it doesn't tell, all may have one that works.
AppAssimilators app_assimilators(const std::filesystem::path& project, std::span<const App> apps);

}  // namespace sluice
