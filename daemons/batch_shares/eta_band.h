#pragma once
// How sure the time is by which a batch is expected to be done (batch.est_completion_time).

namespace sluice {

/// The batch ends between these two with a probability of 80 %, UNIX s.
struct EtaBand {
    double from = 0, until = 0;
};

/// `expected`: as it was planned a moment ago. What is left of a batch takes a multiple of what it is expected to take:
/// the tenth and the ninetieth percentile that the simulator has found (docs/planner.md). A plan whose time has passed
/// says nothing but that it is not done.
inline EtaBand eta_band(double now, double expected) {
    constexpr double kLeast = 0.3, kMost = 2.3;  ///< times what is expected to be left
    constexpr double kMoment = 60;               ///< s: reports and validation take their time
    const double left = expected > now ? expected - now : 0;
    return {now + kLeast * left, now + kMost * left + kMoment};
}

}  // namespace sluice
