// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What batch_shares does in a pass, and what config.xml says of shares.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/project_config.h"
#include "daemons/batches/shares_plan.h"
#include "sluice/base/clock.h"
#include "sluice/base/timing.h"
#include "sluice/daemon/service.h"
#include "sluice/db/batch_store.h"
#include "sluice/db/share_store.h"

namespace sluice {

/// What config.xml says of shares; nullopt: <share_rule> is off. Whose the jobs without a batch are is not in it.
std::optional<ShareSettings> share_settings(const ProjectConfig& config);

struct OwnerWithoutBatch {
    std::optional<NamedUser> user;  ///< nullopt: those jobs are nobody's
    std::string problem;            ///< one line, if config.xml names a user and there is no such one
};
/// As <jobs_without_batch> names him.
OwnerWithoutBatch owner_without_batch(const ProjectConfig& config, QuotaStore& store);

/// One pass of batch_shares: what plan.h decides is written in one transaction and logged.
ShareOutcome shares_pass(ShareStore& store, const ShareSettings& settings, const Clock& clock);

/// A line for each thing that shares_pass() would change now. Takes no lock, writes nothing and makes no table.
std::vector<std::string> shares_preview(ShareStore& store, const ShareSettings& settings, const Clock& clock);

/// Gives batches that came since the last pass their places; nothing else. There was a pass before.
ShareOutcome admission_pass(ShareStore& store, const ShareSettings& settings, const Clock& clock);

struct SharesOptions {
    double every = 300;  ///< s between two passes
    ShareSettings rules = {};
    int compat_level = 0;
    bool dry_run = false;                             ///< a turn prints what a pass would change, and writes nothing
    std::function<void(double now)> after_pass = {};  ///< may be empty
    std::function<void()> before_turn = {};           ///< may be empty, and may change the rules
};

/// batch_shares. A pass looks at every job of every batch. A short batch has no time to wait for it, and without a
/// place its jobs go to no host. So new batches are looked for between two passes.
class SharesService final : public Service {
  public:
    /// s between two looks for new batches.
    static constexpr double kLook = 10;
    /// All outlive it.
    SharesService(const SharesOptions& options, ShareStore& store, const Clock& clock, Notices& notices);
    bool pass_is_due() const { return passes_.due(clock_.now()); }
    Turn turn() override;

  private:
    const SharesOptions& options_;
    ShareStore& store_;
    const Clock& clock_;
    Notices& notices_;
    Periodic passes_;
    bool is_to_tell_ = false;  ///< what was written; the feeder has not been told yet
};

/// Warnings of sluice_options --check about unsent jobs without a batch: no user is charged for them, no host gets
/// them, or their owner is missing or has no quota. None where <share_rule> is off.
std::vector<std::string> findings_without_batch(const ProjectConfig& config, QuotaStore& quotas,
                                                BatchOwnerStore& batches);

}  // namespace sluice
