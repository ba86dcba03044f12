// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/run/canary_settings.h"

#include <algorithm>
#include <cstdlib>

namespace sluice {
namespace {

constexpr std::string_view kShare = "hundredths_of_a_percent ";

}  // namespace

int canary_share(std::string_view settings) {
    if (!settings.starts_with(kShare)) return 0;
    return std::clamp(std::atoi(std::string(settings.substr(kShare.size(), 8)).c_str()), 0, kAllHosts);
}

std::string canary_settings(int share) { return std::string(kShare) + std::to_string(share) + "\n"; }

}  // namespace sluice
