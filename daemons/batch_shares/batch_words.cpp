// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batch_shares/batch_words.h"

#include <fmt/chrono.h>
#include <fmt/core.h>

#include <ctime>

namespace sluice {

std::string state_name(BatchState state) {
    switch (state) {
        case BatchState::kInit: return "new";
        case BatchState::kInProgress: return "in progress";
        case BatchState::kComplete: return "complete";
        case BatchState::kAborted: return "aborted";
        case BatchState::kRetired: return "retired";
    }
    return "state " + std::to_string(static_cast<int>(state));
}

std::string utc_text(double time) {
    if (!(time > 0) || time > 253402300799.0) return "-";  // the year 9999
    return fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(static_cast<std::time_t>(time)));
}

std::string time_span_text(double seconds) {
    if (seconds < 60) return fmt::format("{:.0f} s", seconds);
    if (seconds < 3600) return fmt::format("{:.0f} min", seconds / 60);
    if (seconds < 2 * 86400) return fmt::format("{:.1f} h", seconds / 3600);
    return fmt::format("{:.1f} d", seconds / 86400);
}

std::string expected_text(double now, double expected, const EtaFactors& factors) {
    const EtaBand band = eta_band(now, expected, factors);
    return fmt::format("in {}; with 80 % probability in {} to {}", time_span_text(expected - now),
                       time_span_text(band.from - now), time_span_text(band.until - now));
}

}  // namespace sluice
