// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A page for the owners of batches. It shows each batch's progress and expected end, and each user's part of the work
// beside his quota. One file that loads nothing. And how batches are spoken of, by tools and pages.
#include <string>
#include <vector>

#include "sluice/db/batch_store.h"
#include "sluice/db/share_store.h"
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

inline constexpr int kDaysShown = 60;

struct OwnersPage {
    std::string project;  ///< its name
    double now = 0;
    EtaFactors eta_factors;           ///< how sure the times are by which batches are expected to be done
    std::vector<OwnedBatch> batches;  ///< newest last
    std::vector<ShareUser> users;
    std::vector<DailyWork> days;
};

std::string owners_page(const OwnersPage& page);

}  // namespace sluice
