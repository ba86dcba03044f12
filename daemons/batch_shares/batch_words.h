// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// How batches are spoken of, by tools and pages.
#include <string>

#include "sluice/model/codes.h"
#include "sluice/model/eta.h"

namespace sluice {

/// "new", "in progress", "complete", "aborted", "retired"; of a state that is none of ours, its number.
std::string state_name(BatchState state);
/// "2026-11-22 08:30 UTC".
std::string utc_text(double time);
/// "45 s", "12 min", "3.2 h", "4.1 d".
std::string time_span_text(double seconds);
/// "in 2.0 h; with 80 % probability in 36 min to 4.6 h" of what is expected after `now`.
std::string expected_text(double now, double expected, const EtaFactors& factors);

}  // namespace sluice
