// SPDX-License-Identifier: LGPL-3.0-or-later
#include "feeder/array_mirror.h"

#include <algorithm>

namespace sluice {

void ArrayMirror::set(std::size_t slot, const HeldJob& job) {
    jobs_[slot] = job;
    jobs_[slot].held = true;
    slot_of_[job.queued.row.id] = slot;
}

HeldJob ArrayMirror::clear(std::size_t slot) {
    const HeldJob was = jobs_[slot];
    if (!was.held) return was;
    slot_of_.erase(was.queued.row.id);
    jobs_[slot] = HeldJob{};
    return was;
}

std::vector<HeldJob> ArrayMirror::notice_taken(const JobArray& array) {
    std::vector<HeldJob> taken;
    if (slot_of_.empty()) return taken;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
        if (jobs_[i].held && array.state(static_cast<std::uint32_t>(i)) == SlotState::kEmpty) taken.push_back(clear(i));
    }
    return taken;
}

std::uint32_t ArrayMirror::looks(std::size_t slot, const JobArray& array) const {
    const std::uint32_t all = array.passed_over_count(static_cast<std::uint32_t>(slot));
    return all - std::min(all, jobs_[slot].discounted_looks);
}

void ArrayMirror::restart_looks(const StreamKey& line, double since, const JobArray& array) {
    std::vector<std::size_t> of_line;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
        if (jobs_[i].held && jobs_[i].line() == line) of_line.push_back(i);
    }
    const auto older = std::ranges::count_if(of_line, [&](std::size_t i) { return jobs_[i].since < since; });
    if (static_cast<std::size_t>(older) > of_line.size() - of_line.size() / 4) return;
    for (const std::size_t i : of_line)
        jobs_[i].discounted_looks = array.passed_over_count(static_cast<std::uint32_t>(i));
}

ArrayShares ArrayMirror::shares(std::span<const std::uint32_t> slots) const {
    ArrayShares s;
    s.slots = slots.size();
    for (const std::uint32_t slot : slots) {
        if (!jobs_[slot].held) continue;
        const UnsentRow& row = jobs_[slot].queued.row;
        ++(row.priority > 0 ? s.high : s.low);
        ++s.by_batch[row.batch];
    }
    return s;
}

std::vector<std::uint32_t> ArrayMirror::empty_slots() const {
    std::vector<std::uint32_t> slots;
    slots.reserve(jobs_.size() - slot_of_.size());
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
        if (!jobs_[i].held) slots.push_back(static_cast<std::uint32_t>(i));
    }
    return slots;
}

}  // namespace sluice
