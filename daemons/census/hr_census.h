// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Recent credit of each HR class: PROJECT/hr_info.txt.
#include <filesystem>
#include <utility>

#include "sluice/daemon/service.h"
#include "sluice/db/hr_census_store.h"

namespace sluice {

/// Counts the hosts and writes the file; on a stop it stays as it was. Always kFinished.
TurnResult write_hr_census(HrCensusStore& store, const std::filesystem::path& project, int compat_level);

/// census.
class HrCensusTask final : public Service {
  public:
    /// The store outlives it.
    HrCensusTask(HrCensusStore& store, std::filesystem::path project, int compat_level)
        : Service(0), store_(store), project_(std::move(project)), level_(compat_level) {}
    Turn turn() override { return {write_hr_census(store_, project_, level_)}; }

  private:
    HrCensusStore& store_;
    std::filesystem::path project_;
    int level_;
};

}  // namespace sluice
