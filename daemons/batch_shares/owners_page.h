// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A page for the owners of batches: how far they are and when they will be over, and what part of the work each user
// got beside his quota. One file that loads nothing.
#include <string>
#include <vector>

#include "sluice/db/batch_owner_store.h"
#include "sluice/db/share_store.h"
#include "sluice/model/eta.h"

namespace sluice {

inline constexpr int kDaysShown = 60;

struct OwnersPage {
    std::string project;  ///< its name
    double now = 0;
    EtaFactors eta_factors;           ///< how sure the times are by which batches are expected to be done
    std::vector<OwnedBatch> batches;  ///< newest last
    std::vector<ShareUser> users;
    std::vector<DayOfWork> days;
};

std::string owners_page(const OwnersPage& page);

}  // namespace sluice
