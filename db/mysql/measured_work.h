// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What instances used and were estimated to use (db/share_rules.h), as SQL.
#include "sluice/db/sql.h"

namespace sluice {

/// measured_operations() of the instance `r` on the host `h`.
inline constexpr SqlLiteral kMeasured{
    "GREATEST(LEAST(GREATEST(r.elapsed_time,r.cpu_time,0),1e8)*IF(h.p_fpops>=1e6,LEAST(h.p_fpops,1e12),1e9),"
    "LEAST(GREATEST(r.elapsed_time,0),IF(r.sent_time>0,GREATEST(r.received_time-r.sent_time,0),1e8),1e8)"
    "*LEAST(GREATEST(r.flops_estimate,0),1e15))"};

/// usable_estimate() of the job `w`.
inline constexpr SqlLiteral kEstimate{"LEAST(GREATEST(w.rsc_fpops_est,0),1e30)"};

}  // namespace sluice
