// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What result.priority means. Projects set small numbers; upstream's submit tools store minus the batch's logical end
// time there (about -1.8e9), which as points would swamp every other term.
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace sluice::match {

inline constexpr std::int32_t kLetBelow = -100000000;
inline bool is_logical_end_time(std::int32_t priority) { return priority < kLetBelow; }

/// The distinct priorities of a scan's candidates, and the rank of each among its kind.
class PriorityRanks {
  public:
    void see(std::int32_t priority) {
        std::int32_t& seen = filter_[static_cast<std::uint32_t>(priority) % filter_.size()];
        if (any_ && seen == priority) return;  // most priorities repeat: few get past here
        if (!any_) filter_.fill(priority);
        any_ = true;
        seen = priority;
        (is_logical_end_time(priority) ? ends_ : priorities_).push_back(priority);
        sorted_ = false;
    }
    /// In [-1,1]; 0 if there is only one value of its kind.
    double rank(std::int32_t priority) {
        if (!sorted_) sort();
        const auto& of = is_logical_end_time(priority) ? ends_ : priorities_;
        if (of.size() < 2) return 0;
        const auto at = std::lower_bound(of.begin(), of.end(), priority) - of.begin();
        return -1 + 2 * static_cast<double>(at) / static_cast<double>(of.size() - 1);
    }

  private:
    void sort() {
        for (auto* v : {&priorities_, &ends_}) {
            std::sort(v->begin(), v->end());
            v->erase(std::unique(v->begin(), v->end()), v->end());
        }
        sorted_ = true;
    }
    std::array<std::int32_t, 256> filter_{};
    std::vector<std::int32_t> priorities_, ends_;
    bool any_ = false, sorted_ = true;
};

}  // namespace sluice::match
