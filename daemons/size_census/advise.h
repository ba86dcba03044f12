// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// size_census --advise: how many size classes an app should have and how large their jobs should be (seed 003: "we
// should design tools to guide this decision"). Pure.
#include <string>
#include <vector>

namespace sluice {

struct ClassAdvice {
    double from = 0, to = 0;                  ///< effective speeds of the class, flops/s
    double typical = 0;                       ///< median speed
    double job_flops = 0;                     ///< rsc_fpops_est that takes the target run time at the typical speed
    double relative = 1;                      ///< to the smallest class
    double runtime_p10 = 0, runtime_p90 = 0;  ///< s, of such a job on the class's fast and slow hosts
    double in_band = 0;                       ///< share of the class's hosts with a run time within the band
};

struct Advice {
    std::vector<ClassAdvice> classes;
    double in_band = 0;    ///< over all hosts
    bool reached = false;  ///< the wanted share was reached with at most `most` classes
};

struct AdviceSettings {
    double target_runtime = 3600;  ///< s
    double band = 2;               ///< a run time between target / band and target * band is good
    double share = 0.9;            ///< of the hosts that should have a good run time
    int most = 10;                 ///< classes at most
};

/// The smallest number of classes of equal host numbers with which the wanted share of hosts is in the band.
/// Sorts `speeds`. No classes if there are no speeds.
Advice advise(std::vector<double>& speeds, const AdviceSettings& wish);

std::string advice_text(const std::string& app, const Advice& advice, const AdviceSettings& wish);
/// Histogram over powers of two of the speed, as text bars and as an SVG picture. `speeds` must be sorted.
std::string histogram_text(const std::vector<double>& speeds);
std::string histogram_svg(const std::string& app, const std::vector<double>& speeds, const Advice& advice);

}  // namespace sluice
