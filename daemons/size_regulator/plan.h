// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// How many jobs of each size class become sendable, by water marks per class. Seed 003, job size matching: "Regulating
// the flow of jobs into shared memory". Pure.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sluice {

struct WaterMarks {
    std::int64_t low = 0;   ///< below this many UNSENT jobs of a class …
    std::int64_t high = 0;  ///< … it is filled up to this many
};

struct Release {
    int size_class = 0;
    std::int64_t wanted = 0;  ///< INACTIVE jobs to make UNSENT
};

/// `unsent`: UNSENT jobs by class (classes that are not there have none). Never releases beyond the high mark.
std::vector<Release> plan_release(int classes, const std::map<int, std::int64_t>& unsent, const WaterMarks& marks);

/// "" if they make sense, else what is wrong.
std::string check_marks(const WaterMarks& marks);

}  // namespace sluice
