// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/handle/wide_pool.h"

namespace sluice {

SlotState WidePool::read(std::uint32_t index, JobSummary& job, SlotRef& ref) const {
    if (index < array_.size()) return array_.read(index, job, ref);
    const Job& own = jobs_[index - array_.size()];
    job = own.job;
    ref = {index, 0, 1};
    return own.state;
}

bool WidePool::claim(const SlotRef& ref) {
    Job* const job = own(ref);
    if (job == nullptr) return array_.claim(ref);
    if (job->state != SlotState::kPresent) return false;
    job->state = SlotState::kClaimed;
    return true;
}

void WidePool::release(const SlotRef& ref) {
    if (Job* const job = own(ref))
        job->state = SlotState::kPresent;
    else
        array_.release(ref);
}

void WidePool::discard(const SlotRef& ref) {
    if (Job* const job = own(ref))
        job->state = SlotState::kEmpty;
    else
        array_.discard(ref);
}

void WidePool::consume(const SlotRef& ref) {
    if (Job* const job = own(ref))
        job->state = SlotState::kEmpty;
    else
        array_.consume(ref);
}

std::optional<std::string> WidePool::workunit_xml(const SlotRef& ref) const {
    const Job* const job = own(ref);
    return job != nullptr ? job->doc.wu_xml : array_.workunit_xml(ref);
}

std::string WidePool::keywords(const SlotRef& ref) const {
    const Job* const job = own(ref);
    return job != nullptr ? job->doc.keywords : array_.keywords(ref);
}

std::optional<SlotDoc> WidePool::document(const SlotRef& ref) const {
    const Job* const job = own(ref);
    if (job == nullptr) return array_.document(ref);
    return job->state == SlotState::kClaimed ? std::optional(job->doc) : std::nullopt;
}

void WidePool::note_infeasible(const SlotRef& ref) {
    if (own(ref) == nullptr) array_.note_infeasible(ref);
}

void WidePool::note_passed_over(const SlotRef& ref) {
    if (own(ref) == nullptr) array_.note_passed_over(ref);
}

}  // namespace sluice
