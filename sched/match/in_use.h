// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Questions about the whole request, for rows that matter to some requests only.
#include <algorithm>

#include "sluice/match/matcher.h"

namespace sluice::match {

inline bool any_app_with_hr(const MatchContext& x) {
    return x.params.project_hr() != HrType::kNone ||
           std::any_of(x.tables.apps.begin(), x.tables.apps.end(),
                       [](const App& app) { return app.homogeneous_redundancy != HrType::kNone; });
}

inline bool uses_batch_acceleration(const MatchContext& x) { return x.params.batch_accel; }

}  // namespace sluice::match
