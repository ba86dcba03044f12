// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <string>

#include "config/project_config.h"
#include "feeder/options.h"
#include "sluice/base/env.h"
#include "sluice/db/catalogue_store.h"
#include "sluice/db/feeder_store.h"

namespace sluice {

/// Which jobs a feeder with these options would put into an empty array: one line a slot. Writes nothing.
std::string feeder_dry_run(const ProjectConfig& config, const FeederOptions& options, FeederStore& store,
                           CatalogueStore& catalogue, Env env);

}  // namespace sluice
