// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What chooses jobs, put together: walks -> backlog -> picker -> slots. The feeder and its dry run share it.
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>

#include "config/project_config.h"
#include "feeder/enumerator.h"
#include "feeder/picker.h"
#include "feeder/slot_filler.h"
#include "sluice/base/env.h"
#include "sluice/model/catalogue.h"

namespace sluice {

struct FeederChain {
    /// Asks the database for the submitters of --user. Throws ConfigError: a user that may not submit. `held` as for
    /// Enumerator. Everything given outlives the chain.
    FeederChain(const ProjectConfig& config, const FeederOptions& options, FeederStore& store, Env env,
                std::function<bool(Id)> held);

    /// After (re)loading the tables. Throws ConfigError: HR settings that contradict each other, no hr_info.txt.
    void set_apps(const std::vector<App>& apps);
    /// Likewise: the order of batches by their users' shares. As long as there is none, jobs come in the default order.
    void set_batches(const std::unordered_map<Id, BatchShare>& batches);

    const ProjectConfig& config;
    const FeederOptions options;  ///< with <share_rule> on, FeederOrder::kShares in the place of the default order
    Enumerator enumerator;
    Picker picker;
    SlotFiller filler;

  private:
    std::set<Id> unknown_;  ///< ids of --appids that were reported
};

/// ../hr_info.txt as upstream reads it, else PROJECT/hr_info.txt. Throws ConfigError.
HrInfo read_hr_info(const std::filesystem::path& project);
/// When the file that read_hr_info() would read was written; nullopt: there is none.
std::optional<std::filesystem::file_time_type> hr_info_time(const std::filesystem::path& project);

}  // namespace sluice
