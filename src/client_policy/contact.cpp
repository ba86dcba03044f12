// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/client_policy/contact.h"

#include <algorithm>

namespace sluice::client {

constexpr double kHour = 3600, kDay = 86400, kFirstBackoff = 600;

void Backoff::refused(double now, double draw) {
    if (until > now) return;
    interval = interval > 0 ? std::min(2 * interval, kDay) : kFirstBackoff;
    until = now + (0.5 + draw) * interval;
}

bool is_abandoned(const Job& job, double now) { return !job.started && job.deadline <= now; }

double report_by(double finished, double deadline, double work_buf_min) {
    const double urgent = deadline - std::max(kDay, work_buf_min);
    return std::clamp(urgent, finished, finished + kHour);
}

bool must_report(const std::vector<UnreportedJob>& jobs, double now, double work_buf_min) {
    constexpr std::size_t kMany = 64;
    return jobs.size() >= kMany || std::any_of(jobs.begin(), jobs.end(), [&](const UnreportedJob& f) {
               return f.immediately || now >= report_by(f.at, f.deadline, work_buf_min);
           });
}

}  // namespace sluice::client
