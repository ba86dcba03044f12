// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/sim/progress_bar.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

namespace sluice::sim {

double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

ProgressBar::ProgressBar() : shown_(::isatty(STDERR_FILENO) != 0), start_(seconds_now()) {}

ProgressBar::~ProgressBar() {
    if (shown_) std::fputs("\r\x1b[K", stderr);
}

void ProgressBar::operator()(double part) {
    if (!shown_) return;
    constexpr int kWidth = 40;
    const int full = static_cast<int>(part * kWidth);
    const double left = (seconds_now() - start_) * (1 - part) / part;
    std::fputs(
        fmt::format("\r[{:#<{}}{:.<{}}] {:3.0f} %  {:.0f} s left ", "", full, "", kWidth - full, 100 * part, left)
            .c_str(),
        stderr);
}

}  // namespace sluice::sim
