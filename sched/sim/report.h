// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// report.html: what a run gave, on one page without scripts that loads nothing.
#include <string>

#include "sched/sim/fleet_result.h"

namespace sluice::sim {

std::string report_html(const FleetResult& result);

}  // namespace sluice::sim
