#pragma once
// What result.priority means. Projects set small numbers; upstream's submit tools store minus the batch's logical end
// time there (about -1.8e9), which as points would swamp every other term.
#include <cstdint>

namespace sluice::match {

inline constexpr std::int32_t kLetBelow = -100000000;
inline bool is_logical_end_time(std::int32_t priority) { return priority < kLetBelow; }

}  // namespace sluice::match
