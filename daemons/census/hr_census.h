#pragma once
// Recent credit of each HR class: PROJECT/hr_info.txt.
#include <filesystem>

#include "sluice/daemon/daemon.h"
#include "sluice/db/hr_census_store.h"

namespace sluice {

/// Counts the hosts and writes the file; on a stop it stays as it was. Always kFinished.
PassResult write_hr_census(HrCensusStore& store, const std::filesystem::path& project, int compat_level);

}  // namespace sluice
