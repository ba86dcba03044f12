// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/explain/dry_pool.h"

#include <algorithm>

namespace sluice {

DryJobPool::DryJobPool(const JobArray& array, PoolFilter filter) : array_(array), slots_(array.size()) {
    slots_of_array_ = array.size();
    for (std::uint32_t i = 0; i < slots_of_array_; ++i) {
        Slot& s = slots_[i];
        s.state = array.read(i, s.job, s.ref);
        if (s.state == SlotState::kClaimed) ++locked_;
        if (s.state != SlotState::kPresent) continue;
        ++jobs_in_array_;
        s.shown = (filter.app == 0 || s.job.app_id == filter.app) && (filter.batch == 0 || s.job.batch == filter.batch);
    }
}

std::uint32_t DryJobPool::shown() const {
    return static_cast<std::uint32_t>(
        std::count_if(slots_.begin(), slots_.end(), [](const Slot& s) { return s.shown; }));
}

void DryJobPool::show_only(Id result) {
    for (Slot& s : slots_) s.shown = s.shown && s.job.result_id == result;
}

void DryJobPool::add_outsider(const JobSummary& job, SlotDoc doc) {
    Slot& s = slots_.emplace_back();
    s.state = SlotState::kPresent;
    s.job = job;
    s.ref = {static_cast<std::uint32_t>(slots_.size() - 1), job.hr_class != 0 ? 1u : 0u, 0};
    s.shown = true;
    s.doc = std::move(doc);
}

void DryJobPool::mark_reliable(int reliable_on_priority) {
    for (Slot& s : slots_)
        s.job.need_reliable = reliable_on_priority != 0 && s.job.priority >= reliable_on_priority ? 1 : 0;
}

std::optional<std::uint32_t> DryJobPool::slot_of(Id result) const {
    for (std::uint32_t i = 0; i < slots_of_array_; ++i)
        if (slots_[i].state == SlotState::kPresent && slots_[i].job.result_id == result) return i;
    return std::nullopt;
}

SlotState DryJobPool::read(std::uint32_t index, JobSummary& job, SlotRef& ref) const {
    const Slot& s = slots_[index];
    if (s.state == SlotState::kClaimed) return SlotState::kClaimed;
    if (s.state == SlotState::kEmpty || !s.shown) return SlotState::kEmpty;
    if (s.claimed) return SlotState::kClaimed;
    job = s.job;
    ref = s.ref;
    return SlotState::kPresent;
}

bool DryJobPool::claim(const SlotRef& ref) {
    Slot& s = slots_[ref.index];
    if (s.claimed) return false;
    s.claimed = true;
    claimed_.push_back(ref.index);
    return true;
}

void DryJobPool::release(const SlotRef& ref) {
    slots_[ref.index].claimed = false;
    std::erase(claimed_, ref.index);
}

void DryJobPool::release_all() {
    for (const std::uint32_t i : claimed_) slots_[i].claimed = false;
    claimed_.clear();
}

void DryJobPool::hold_for(int requests) {
    held_.push_back(std::move(claimed_));
    claimed_.clear();
    while (held_.size() > static_cast<std::size_t>(requests)) {
        for (const std::uint32_t i : held_.front()) slots_[i].claimed = false;
        held_.pop_front();
    }
}

std::optional<SlotDoc> DryJobPool::document(const SlotRef& ref) const {
    const Slot& s = slots_[ref.index];
    if (s.doc) return s.doc;
    return array_.peek_doc(s.ref);
}

std::optional<std::string> DryJobPool::workunit_xml(const SlotRef& ref) const {
    auto doc = document(ref);
    if (!doc) return std::nullopt;
    return std::move(doc->wu_xml);
}

std::string DryJobPool::keywords(const SlotRef& ref) const {
    auto doc = document(ref);
    return doc ? std::move(doc->keywords) : std::string();
}

bool DryJobPool::any_present() const {
    for (const Slot& s : slots_)
        if (s.state == SlotState::kPresent) return true;
    return false;
}

}  // namespace sluice
