// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// How sure the time is by which a batch is expected to be done (batch.est_completion_time).

namespace sluice {

/// What is left of a batch takes between `least` and `most` times what it is expected to take, with a probability of
/// 80 %. batch_planner learns them from the batches of the project; the defaults are what the simulator found
/// (docs/planner.md).
struct EtaFactors {
    double least = 0.3, most = 2.3;
    friend bool operator==(const EtaFactors&, const EtaFactors&) = default;
};

/// The batch ends between these two with a probability of 80 %, UNIX s.
struct EtaBand {
    double from = 0, until = 0;
};

/// `expected`: as it was planned a moment ago. A plan whose time has passed says nothing but that it is not done.
inline EtaBand eta_band(double now, double expected, const EtaFactors& factors) {
    constexpr double kMoment = 60;  ///< s: reports and validation take their time
    const double left = expected > now ? expected - now : 0;
    return {now + factors.least * left, now + factors.most * left + kMoment};
}

}  // namespace sluice
