#include "feeder/reclaim.h"

#include <algorithm>

namespace sluice {
namespace {

std::vector<std::uint32_t> held_slots(const ArrayMirror& mirror, const std::function<bool(const HeldJob&)>& wanted) {
    std::vector<std::uint32_t> slots;
    for (std::size_t i = 0; i < mirror.size(); ++i) {
        if (mirror.at(i).held && wanted(mirror.at(i))) slots.push_back(static_cast<std::uint32_t>(i));
    }
    return slots;
}

}  // namespace

std::vector<std::uint32_t> stale_slots(const ArrayMirror& mirror, double now, double age) {
    if (age <= 0) return {};
    return held_slots(mirror, [&](const HeldJob& job) { return now - job.since > age; });
}

std::vector<std::uint32_t> slots_to_rotate(const ArrayMirror& mirror, double now, double age,
                                           const std::function<bool(std::uint32_t)>& is_wanted) {
    auto slots = stale_slots(mirror, now, age);
    std::stable_sort(slots.begin(), slots.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return mirror.at(a).since < mirror.at(b).since; });
    const std::size_t most = std::max<std::size_t>(1, mirror.size() / 10);
    std::vector<std::uint32_t> chosen;
    for (const std::uint32_t slot : slots) {
        if (chosen.size() == most) break;
        if (is_wanted(slot)) chosen.push_back(slot);
    }
    return chosen;
}

std::vector<std::uint32_t> slots_to_rebalance(const ArrayMirror& mirror, std::span<const std::uint32_t> slots,
                                              double share, const Waiting& waiting) {
    const ArrayShares have = mirror.shares(slots);
    if (have.high + have.low < have.slots) return {};
    const AccelTarget target = accel_target(have.slots, share);
    const bool too_many_high = have.high > target.high;
    const std::size_t surplus = too_many_high           ? have.high - target.high
                                : have.low > target.low ? have.low - target.low
                                                        : 0;
    const std::size_t n = std::min(surplus, too_many_high ? waiting.low : waiting.high);
    std::vector<std::uint32_t> chosen;
    if (n == 0) return chosen;
    for (const std::uint32_t slot : slots) {
        if ((mirror.at(slot).candidate.row.priority > 0) == too_many_high) chosen.push_back(slot);
    }
    std::stable_sort(chosen.begin(), chosen.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return mirror.at(a).since > mirror.at(b).since; });
    chosen.resize(std::min(n, chosen.size()));
    return chosen;
}

}  // namespace sluice
