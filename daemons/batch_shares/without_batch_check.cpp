// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batch_shares/without_batch_check.h"

#include <fmt/core.h>

#include <algorithm>

#include "daemons/batch_shares/share_config.h"
#include "db/share_rules.h"
#include "sluice/base/in_one_line.h"

namespace sluice {
namespace {

constexpr const char* kGiveAnOwner =
    "<jobs_without_batch>USER</jobs_without_batch>, with a user's number or e-mail address, charges them to a user";

std::string owner_finding(const OwnerWithoutBatch& owner, const std::vector<QuotaRow>& rows) {
    if (!owner.user) return owner.problem;
    const Id id = owner.user->id;
    const bool has_quota =
        std::ranges::any_of(rows, [&](const QuotaRow& q) { return q.user.id == id && usable_quota(q.quota) > 0; });
    if (has_quota) return "";
    return fmt::format(
        "user {0} ({1}) owns the jobs without a batch (<jobs_without_batch>) and has no quota: they come after all "
        "others; sluice_batch quota --user {0} --set 1 gives one",
        id, in_one_line(owner.user->name, 40));
}

}  // namespace

std::vector<std::string> findings_without_batch(const ProjectConfig& config, QuotaStore& quotas,
                                                BatchOwnerStore& batches) {
    if (config.share_rule == ShareOrder::kOff) return {};
    const std::vector<QuotaRow> rows = quotas.quotas();
    if (config.gives_an_owner_to_jobs_without_batch()) {
        const std::string finding = owner_finding(owner_without_batch(config, quotas), rows);
        return finding.empty() ? std::vector<std::string>{} : std::vector{finding};
    }
    const std::int64_t unsent = batches.instances(kWithoutBatch).unsent;
    if (unsent == 0) return {};
    if (config.refuses_jobs_without_batch())
        return {
            fmt::format("{} unsent jobs have no batch, and <jobs_without_batch> refuses them: no host gets them. {}; "
                        "or cancel their workunits",
                        unsent, kGiveAnOwner)};
    const bool shared = std::ranges::any_of(rows, [](const QuotaRow& q) { return usable_quota(q.quota) > 0; });
    if (!shared) return {};
    return {
        fmt::format("{} unsent jobs have no batch: nobody is charged for them, and they are behind nobody's batch. {}; "
                    "refuse has them not sent",
                    unsent, kGiveAnOwner)};
}

}  // namespace sluice
