// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/model/average.h"

#include <algorithm>
#include <cmath>

namespace sluice {
namespace {

constexpr double kDay = 86400, kHalfLife = 604800, kLn2 = 0.69314718055994530942;

/// Cuts the sample to the rule's limit; true if that was needed.
bool cut(double& sample, double n, double avg, const AverageRule& rule) {
    if (n == 0 || avg == 0 || sample <= avg * rule.limit) return false;
    sample = avg * rule.limit;
    return true;
}

}  // namespace

bool add_sample(double& n, double& avg, double sample, const AverageRule& rule) {
    if (!(sample >= 0)) return true;
    const bool was_cut = cut(sample, n, avg, rule);
    n += 1;
    avg += (sample - avg) * (n < rule.threshold ? 1 / n : rule.weight);
    return was_cut;
}

bool add_sample(Average& a, double sample, const AverageRule& rule) {
    if (!(sample >= 0)) return true;
    const bool was_cut = cut(sample, a.n, a.avg, rule);
    a.n += 1;
    const double delta = sample - a.avg;
    if (a.n < rule.threshold) {
        a.avg += delta / a.n;
        a.q += delta * (sample - a.avg);
        a.var = a.q / a.n;
    } else {
        a.avg += rule.weight * delta;
        a.var += rule.weight * (delta * delta - a.var);
    }
    return was_cut;
}

void add_credit(double now, double started, double work, double& avg, double& avg_time) {
    if (avg_time > 0) {
        const double elapsed = std::max(0.0, now - avg_time);
        const double kept = std::exp(-elapsed * kLn2 / kHalfLife);
        avg *= kept;
        // For a short time (1 - kept) / elapsed is 0/0: its limit is used.
        avg += 1 - kept > 1e-6 ? (1 - kept) * work * kDay / elapsed : kLn2 * work * kDay / kHalfLife;
    } else if (work > 0) {
        avg = work * kDay / std::max(1.0, now - started);
    }
    avg_time = now;
}

}  // namespace sluice
