// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/base/clock.h"

#include <chrono>

namespace sluice {

double SystemClock::now() const {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

double MonotonicClock::now() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace sluice
