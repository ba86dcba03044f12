// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/model/size_class.h"

#include <cmath>
#include <limits>

namespace sluice {

int size_class_of(double rsc_fpops_est, const std::map<int, double>& typical) {
    int best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (const auto& [size_class, fpops] : typical) {
        const double distance = std::abs(std::log(rsc_fpops_est / fpops));
        if (distance < least) best = size_class, least = distance;
    }
    return best;
}

}  // namespace sluice
