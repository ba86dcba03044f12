// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A comparison for people, for programs (docs/shadow.md has the schema), and as a page that loads nothing.
#include <string>

#include "sched/shadow/comparison.h"

namespace sluice {

std::string comparison_text(const Comparison& c);
std::string comparison_json(const Comparison& c);
/// Bright or dark, as the reader's browser asks.
std::string comparison_html(const Comparison& c);

struct Latencies {
    double median = 0, p95 = 0, most = 0;  ///< ms
};
Latencies latencies_of(std::vector<double> ms);

}  // namespace sluice
