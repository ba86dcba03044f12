// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <string>
#include <vector>

#include "config/project_config.h"
#include "sluice/db/batch_owner_store.h"
#include "sluice/db/quota_store.h"

namespace sluice {

/// Warnings of sluice_options --check: unsent jobs without a batch that nobody is charged for or nobody gets, and an
/// owner of such jobs who is not there or has no quota. None where <share_rule> is off.
std::vector<std::string> findings_without_batch(const ProjectConfig& config, QuotaStore& quotas,
                                                BatchOwnerStore& batches);

}  // namespace sluice
