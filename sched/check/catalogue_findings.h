// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Apps x versions x platforms, plan classes and templates: jobs that no host can get, and why.
#include <filesystem>
#include <string>
#include <vector>

#include "sched/check/finding.h"
#include "sluice/match/plan_classes.h"
#include "sluice/model/catalogue.h"

namespace sluice {

struct CatalogueRows {
    std::vector<App> apps;
    std::vector<Platform> platforms;
    std::vector<AppVersion> versions;  ///< of all apps
};

std::vector<Finding> catalogue_findings(const CatalogueRows& rows, const PlanClasses& classes, int compat_level);

/// Templates that workunits name, and that are not in the project's folder.
std::vector<Finding> missing_templates(const std::vector<std::string>& names, const std::filesystem::path& project);

}  // namespace sluice
