// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// `sluice_batch quota` and `usage`: who may use how much of the project, and who used what.
#include <optional>
#include <string>
#include <vector>

#include "daemons/batch/quota_text.h"
#include "daemons/batches/shares.h"
#include "sluice/base/clock.h"
#include "sluice/db/quota_store.h"
#include "sluice/match/plan_classes.h"

namespace sluice {

/// The account of that number, e-mail address or name. Throws ConfigError where there is none, or more than one.
NamedUser find_user(QuotaStore& store, const std::string& text);
/// A number is taken as it is: batches may outlive their owner's account.
Id user_id_of(QuotaStore& store, const std::string& text);

/// Stores the quota; 0 takes it away. With shares the order of batches follows at once, as in a pass of batch_shares.
/// Throws ConfigError if it is neither 0 nor between share::kLeastQuota and kMostQuota.
void set_quota(QuotaStore& store, const NamedUser& user, double quota);
void reorder_batches(ShareStore& store, const ShareSettings& settings, double now);

/// Those of the store, and `user`, who may have none.
std::vector<QuotaRow> quotas_with(QuotaStore& store, const std::optional<NamedUser>& user);

/// What kind of processor an app version is for.
struct ResourceOf {
    const PlanClasses& classes;
    int compat_level = 0;
    ProcType operator()(const UsageRow& row) const;
};
UsageView usage_of(QuotaStore& store, const ResourceOf& resource, double now, int days);

}  // namespace sluice
