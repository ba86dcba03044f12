// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Platforms as a set in one number, as sluice_host_rpc has it of each host and gang_planner of each app.
#include <cstdint>

#include "sluice/model/codes.h"

namespace sluice {

/// It is not known which: a host that has not been heard of yet, or has versions of its own (anonymous platform).
inline constexpr std::int64_t kAnyPlatform = -1;

/// Two platforms whose ids are 63 apart are taken for one: who counts on it is told "no" a little later.
inline std::int64_t platform_bit(Id platform) { return std::int64_t{1} << (platform % 63); }

}  // namespace sluice
