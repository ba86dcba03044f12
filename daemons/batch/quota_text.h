// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What `sluice_batch quota` and `usage` print.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sluice/db/quota_store.h"

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

}  // namespace sluice
