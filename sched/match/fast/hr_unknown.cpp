// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/match/rows.h"

namespace sluice::match {
namespace {
Verdict check_hr_unknown(const MatchContext&, const Candidate& c) {
    return c.app.hr != HrType::kNone && c.app.host_hr_class == 0 ? refuse(Reason::kHrClassUnknown) : feasible();
}
}  // namespace
const FastRow kHrUnknownRow{.name = "hr_unknown",
                            .scope = Scope::kApp,
                            .check = check_hr_unknown,
                            .doc = "Apps with homogeneous redundancy need a host whose system and processor are known.",
                            .on_resend = true};
}  // namespace sluice::match
