// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <optional>
#include <string>

#include "config/project_config.h"
#include "sluice/db/quota_store.h"
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

}  // namespace sluice
