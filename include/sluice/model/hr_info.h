// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// hr_info.txt: written by census, read by the feeder.
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

inline constexpr int kHrTypes = 3;      ///< none, fine, coarse
inline constexpr int kHrClasses = 896;  ///< of each type; class 0 = not committed

/// Recent credit by type and class.
using HrInfo = std::array<std::vector<double>, kHrTypes>;
/// Throws ConfigError that names `file`, the line and what was expected.
HrInfo parse_hr_info(std::string_view text, const std::string& file);
/// The file as upstream's census writes it. `info` has kHrClasses numbers for each type but the first.
std::string hr_info_text(const HrInfo& info);

}  // namespace sluice
