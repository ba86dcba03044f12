// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Who finishes the jobs of a batch that is over: an assimilator of config.xml, or sluice_batch itself.
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "sluice/model/records.h"

namespace sluice {

struct AppAssimilators {
    std::vector<Id> none;           ///< apps without one: sluice_batch finishes their jobs
    std::vector<std::string> idle;  ///< names of the apps whose assimilators are all disabled: their jobs wait
};

/// As config.xml says. Where it doesn't tell, all may have one that works.
AppAssimilators app_assimilators(const std::filesystem::path& project, std::span<const App> apps);

/// What to tell of a batch of that app; "" if its jobs wait for nobody.
std::string assimilator_warning(const AppAssimilators& assimilators, Id batch, const std::string& app);

}  // namespace sluice
