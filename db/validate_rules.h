// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What a verdict does to the statistics of a host: formulas that every ValidateStore shares. Upstream behaviour.
#include <limits>

#include "sluice/db/validate_store.h"
#include "sluice/model/average.h"

namespace sluice {

inline void add_verdict(HostAppVersion& hav, const ValidationWrite::HostRow& h) {
    if (!h.valid) {
        hav.consecutive_valid = 0;
        if (h.quota > 0 && hav.max_jobs_per_day > h.quota) --hav.max_jobs_per_day;
        return;
    }
    if (hav.max_jobs_per_day < std::numeric_limits<int>::max()) ++hav.max_jobs_per_day;
    if (h.trust) ++hav.consecutive_valid;
    if (h.turnaround >= 0 && !h.outlier) add_sample(hav.turnaround, h.turnaround, kHostVersionRule);
    if (h.et >= 0) add_sample(hav.et, h.et, kHostVersionRule);
    if (h.pfc >= 0) add_sample(hav.pfc_n, hav.pfc_avg, h.pfc, kHostVersionRule);
}

/// host.avg_turnaround with one more sample, s.
inline double blended_turnaround(double average, double sample) {
    return average == 0 ? sample : 0.7 * average + 0.3 * sample;
}

}  // namespace sluice
