// SPDX-License-Identifier: LGPL-3.0-or-later
#include "feeder/reclaim.h"

#include <algorithm>
#include <map>
#include <utility>

namespace sluice {
namespace {

constexpr std::uint32_t kLooksInVain = 3;

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

std::vector<std::uint32_t> slots_to_rotate(const ArrayMirror& mirror, const Rotation& rotation) {
    struct Line {
        std::size_t held = 0, stays = 0;
        std::vector<std::uint32_t> stuck;
    };
    std::map<StreamKey, Line> lines;
    for (const std::uint32_t slot : held_slots(mirror, [](const HeldJob&) { return true; })) {
        Line& line = lines[mirror.at(slot).line()];
        ++line.held;
        if (rotation.now - mirror.at(slot).since > rotation.age && rotation.looks(slot) >= kLooksInVain)
            line.stuck.push_back(slot);
    }
    std::vector<std::uint32_t> chosen;
    for (auto& [key, line] : lines) {
        const std::size_t too_many = line.stuck.size() - std::min(line.stuck.size(), line.held / 2);
        const std::size_t most = std::min(too_many, std::max<std::size_t>(1, line.held / 10));
        std::erase_if(line.stuck, [&](std::uint32_t slot) { return !rotation.is_wanted(slot); });
        std::stable_sort(line.stuck.begin(), line.stuck.end(), [&](std::uint32_t a, std::uint32_t b) {
            const HeldJob &x = mirror.at(a), &y = mirror.at(b);
            return std::pair(-x.queued.major, x.since) < std::pair(-y.queued.major, y.since);
        });
        chosen.insert(chosen.end(), line.stuck.begin(),
                      line.stuck.begin() + static_cast<std::ptrdiff_t>(std::min(line.stuck.size(), most)));
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
        if ((mirror.at(slot).queued.row.priority > 0) == too_many_high) chosen.push_back(slot);
    }
    std::stable_sort(chosen.begin(), chosen.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return mirror.at(a).since > mirror.at(b).since; });
    chosen.resize(std::min(n, chosen.size()));
    return chosen;
}

}  // namespace sluice
