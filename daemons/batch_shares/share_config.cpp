// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batch_shares/share_config.h"

#include <fmt/core.h>

#include <algorithm>

#include "sluice/base/in_one_line.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

std::optional<NamedUser> user_named(const std::string& text, QuotaStore& store) {
    if (const auto number = parse_int(text)) return store.user(*number);
    // An account may have another's address for its name.
    for (const NamedUser& u : store.users_called(text))
        if (to_lower_ascii(u.email) == to_lower_ascii(text)) return u;
    return std::nullopt;
}

}  // namespace

std::optional<ShareSettings> share_settings(const ProjectConfig& config) {
    if (config.share_rule == ShareOrder::kOff) return std::nullopt;
    const bool seed = config.share_rule == ShareOrder::kSeed;
    return ShareSettings{seed ? share::ShareRule::kSeed : share::ShareRule::kSettled, config.share_clamp, 0};
}

OwnerWithoutBatch owner_without_batch(const ProjectConfig& config, QuotaStore& store) {
    OwnerWithoutBatch owner;
    if (!config.gives_an_owner_to_jobs_without_batch()) return owner;
    owner.user = user_named(config.jobs_without_batch, store);
    if (!owner.user)
        owner.problem = fmt::format(
            "<jobs_without_batch> of config.xml is {}, and there is no such user: jobs without a batch are free until it is "
            "the number or e-mail address of an account (create_account makes one)",
            in_one_line(config.jobs_without_batch));
    return owner;
}

}  // namespace sluice
