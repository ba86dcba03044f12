// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/match/edf.h"

#include <algorithm>
#include <cmath>

namespace sluice::match {
namespace {

// A GPU shared by several jobs is several processors: 4 devices at 0.5 each are 8.
constexpr int kPartsPerDevice = 8;

int parts_of(ProcType type) { return type == ProcType::kCpu ? 1 : kPartsPerDevice; }

bool by_deadline(const SimJob& a, const SimJob& b) { return a.deadline < b.deadline; }

}  // namespace

EdfSimulation::EdfSimulation(const std::array<int, kProcTypes>& processors, bool exact) : active_(true), exact_(exact) {
    for (std::size_t t = 0; t < queues_.size(); ++t) {
        queues_[t].processors =
            static_cast<std::size_t>(std::max(processors[t] * parts_of(static_cast<ProcType>(t)), 1));
        queues_[t].kept.resize(queues_[t].processors);
    }
}

std::size_t EdfSimulation::queue_of(const SimJob& job) const { return exact_ ? static_cast<std::size_t>(job.type) : 0; }

/// Takes the processors that are free first; when the job is finished.
double EdfSimulation::run(const SimJob& job, std::span<double> free) const {
    double wanted = exact_ ? job.processors * parts_of(job.type) : 1;
    if (!(wanted >= 1)) wanted = 1;
    const auto width = std::min(static_cast<std::size_t>(std::min(std::ceil(wanted - 1e-9), 1e6)), free.size());
    const auto others = free.begin() + static_cast<std::ptrdiff_t>(width);
    const double finish = *(others - 1) + job.duration;
    const auto place = std::move(others, std::upper_bound(others, free.end(), finish), free.begin());
    std::fill_n(place, width, finish);
    return finish;
}

std::vector<double> EdfSimulation::free_before(const Queue& q, std::size_t index) const {
    std::size_t i = index / q.processors * q.processors;
    const auto kept = q.kept.begin() + static_cast<std::ptrdiff_t>(i);
    std::vector<double> free(kept, kept + static_cast<std::ptrdiff_t>(q.processors));
    for (; i < index; ++i) run(q.jobs[i], free);
    return free;
}

void EdfSimulation::add(const SimJob& job) {
    Queue& q = queues_[queue_of(job)];
    const auto at = q.jobs.insert(std::upper_bound(q.jobs.begin(), q.jobs.end(), job, by_deadline), job);
    q.settled = std::min(q.settled, static_cast<std::size_t>(at - q.jobs.begin()));
}

void EdfSimulation::settle() {
    for (Queue& q : queues_) {
        if (q.settled == q.jobs.size()) continue;
        q.kept.resize((q.jobs.size() / q.processors + 1) * q.processors);
        std::vector<double> free = free_before(q, q.settled);
        for (std::size_t i = q.settled;; ++i) {
            if (i % q.processors == 0)
                std::copy(free.begin(), free.end(), q.kept.begin() + static_cast<std::ptrdiff_t>(i));
            if (i == q.jobs.size()) break;
            q.jobs[i].finish = run(q.jobs[i], free);
        }
        q.settled = q.jobs.size();
    }
}

EdfSimulation::Answer EdfSimulation::try_job(const SimJob& job) const {
    const Queue& q = queues_[queue_of(job)];
    auto at = std::upper_bound(q.jobs.begin(), q.jobs.end(), job, by_deadline);
    std::vector<double> free = free_before(q, static_cast<std::size_t>(at - q.jobs.begin()));
    const double finish = run(job, free);
    if (finish > job.deadline) return {false, false, finish - job.deadline};
    for (; at != q.jobs.end(); ++at) {
        const double after = run(*at, free);
        const bool was_late = at->finish > at->deadline;
        if (was_late ? after > at->finish : after > at->deadline)
            return {false, true, after - std::max(at->finish, at->deadline)};
    }
    return {};
}

}  // namespace sluice::match
