#pragma once
#include <optional>

#include "config/project_config.h"
#include "sluice/db/share_store.h"

namespace sluice {

/// What config.xml says of shares; nullopt: <share_rule> is off.
std::optional<ShareSettings> share_settings(const ProjectConfig& config);

}  // namespace sluice
