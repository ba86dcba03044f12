// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What `sluice_batch quota` and `usage` print.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemons/batches/shares.h"
#include "sluice/base/clock.h"
#include "sluice/db/share_store.h"
#include "sluice/match/plan_classes.h"

namespace sluice {

/// Of all users; `only`: the one that is shown. Parts are of the sum of all quotas as shares count them.
std::string quotas_text(const std::vector<QuotaRow>& rows, std::optional<Id> only);
std::string quotas_json(const std::vector<QuotaRow>& rows, std::optional<Id> only);
/// The part of the project that the user's quota is; 0: he has none.
double part_of_quotas(const std::vector<QuotaRow>& rows, Id user);

struct UsageView {
    struct Used {
        std::int64_t instances = 0;
        double seconds = 0, operations = 0, credit = 0;
        Used& operator+=(const Used& u) {
            instances += u.instances, seconds += u.seconds, operations += u.operations, credit += u.credit;
            return *this;
        }
        Used& operator-=(const Used& u) { return *this += {-u.instances, -u.seconds, -u.operations, -u.credit}; }
    };
    std::vector<QuotaRow> quotas;
    /// By user; 0: jobs without a batch, or of one that is gone.
    std::map<Id, std::map<ProcType, Used>> used;
    std::map<ProcType, Used> without_batch;  ///< part of used[0]
    std::optional<NamedUser> owner;          ///< of these, after give_to()
    std::map<Id, std::string> names;         ///< of users in `used`
    double until = 0;
    int days = 0;
    /// The jobs without a batch are this user's.
    void give_to(const NamedUser& user);
};
std::string usage_text(const UsageView& view, std::optional<Id> only);
std::string usage_json(const UsageView& view, std::optional<Id> only);

// `sluice_batch quota` and `usage`: who may use how much of the project, and who used what.

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
struct UsageResource {
    const PlanClasses& classes;
    int compat_level = 0;
    ProcType operator()(const UsageRow& row) const;
};
UsageView usage_of(QuotaStore& store, const UsageResource& resource, double now, int days);

}  // namespace sluice
