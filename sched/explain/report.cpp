// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/explain/report.h"

#include <algorithm>
#include <map>

#include "sluice/match/policies.h"

namespace sluice {
namespace {

int rank(const JudgedJob& j) { return j.fate == Reason::kFeasible ? 0 : j.fate == Reason::kNotNeeded ? 1 : 2; }

/// Did `a` get further than `b` with the same job?
bool further(const JudgedJob& a, const JudgedJob& b) {
    if (rank(a) != rank(b)) return rank(a) < rank(b);
    if (a.fate == b.fate) return false;
    MatchStats both;
    for (const JudgedJob* j : {&a, &b}) both.reasons[static_cast<std::size_t>(j->fate)].count = 1;
    return binding_order(both).front() == a.fate;
}

}  // namespace

std::vector<JudgedJob> one_line_a_job(const std::vector<JudgedJob>& jobs) {
    std::map<std::uint32_t, std::size_t> by_slot;
    std::vector<JudgedJob> lines;
    for (const JudgedJob& j : jobs) {
        const auto [it, is_new] = by_slot.emplace(j.slot, lines.size());
        if (is_new)
            lines.push_back(j);
        else if (further(j, lines[it->second]))
            lines[it->second] = j;
    }
    std::stable_sort(lines.begin(), lines.end(), [](const JudgedJob& a, const JudgedJob& b) {
        if (rank(a) != rank(b)) return rank(a) < rank(b);
        if (rank(a) < 2 && a.share_band != b.share_band) return a.share_band < b.share_band;
        if (rank(a) < 2 && a.score != b.score) return a.score > b.score;
        return a.slot < b.slot;
    });
    return lines;
}

std::string advice_of(const Report& report, Reason reason) {
    const auto exact = report.advice.find(reason);
    return exact != report.advice.end() ? exact->second : reason_advice(reason);
}

std::optional<Reason> binding_reason(const Explanation& e) {
    const std::vector<Reason> order = binding_order(e.stats);
    if (order.empty() || !is_refusal(order.front())) return std::nullopt;
    return order.front();
}

int jobs_to_send(const Explanation& e) {
    // Instances that are made for this host are among the other jobs.
    const auto sent = std::count_if(e.jobs.begin(), e.jobs.end(), [](const JudgedJob& j) {
        return j.fate == Reason::kFeasible && j.job.result_id != 0;
    });
    return static_cast<int>(sent + static_cast<std::ptrdiff_t>(e.other_jobs.size()));
}

}  // namespace sluice
