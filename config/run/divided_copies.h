// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The copies of Sluice's programs in a project whose hosts `sluice canary` divides. They stay as they are when another
// release is installed, until somebody renews them.
#include <filesystem>
#include <string>
#include <vector>

namespace sluice {

/// Below bin/: our feeder beside theirs, and the scheduler.
inline constexpr const char *kDividedFeeder = "canary_feeder", *kDividedScheduler = "scheduler";

/// Where the front stands in a project, and where it is installed.
inline constexpr const char *kFrontsPlace = "cgi-bin/cgi", *kInstalledFront = "bin/canary_front";

struct DividedProgram {
    const char* installed;  ///< a path below the prefix
    std::string name;       ///< below the project
};
/// All but the front.
std::vector<DividedProgram> divided_programs();

/// Is that file the program that divides hosts, of whatever version?
bool is_canary_front(const std::filesystem::path& file);

/// Those that are not as `prefix` has them, as "bin/scheduler"; empty: the hosts are not divided, or all are.
std::vector<std::string> old_divided_programs(const std::filesystem::path& project,
                                              const std::filesystem::path& prefix);

}  // namespace sluice
