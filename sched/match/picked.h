// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What result.priority means. Projects set small numbers; upstream's submit tools store minus the batch's logical end
// time there (about -1.8e9), which as points would swamp every other term.
#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "sched/match/candidate.h"
#include "sched/match/edf.h"

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

// What this reply holds so far, and what is still wanted: the state that set checks look at. A plain value: the walk
// copies it to look ahead.

/// Jobs of one version sent today against what it may get.
struct Quota {
    int sent_today = 0;
    int allowed = 0;  ///< < 0: no quota
    Verdict verdict() const {
        return allowed >= 0 && sent_today >= allowed ? refuse(Reason::kDailyQuota, sent_today, allowed) : feasible();
    }
};

/// Bytes of jobs that can run beside one more, at worst: the largest, one for each of the other processors.
class MemoryBeside {
  public:
    MemoryBeside() = default;
    /// Of the jobs on the host.
    explicit MemoryBeside(const HostFacts& host);
    void add(double memory);
    double sum() const { return sum_; }

  private:
    void sum_up();
    std::size_t others_ = 0;
    std::vector<double> held_;  ///< the largest first
    double sum_ = 0;
};

struct Picked {
    WorkRequest left;
    int jobs = 0, max_jobs = 0;
    double disk = 0;                                      ///< bytes of the jobs in this reply
    MemoryBeside memory;                                  ///< of the host's jobs and those of this reply
    std::array<int, kProcTypes> in_progress{};            ///< of this project on the host, this reply included
    int in_progress_total = 0, max_in_progress = 0;       ///< the volunteer's own limit; 0: none
    std::array<int, kProcTypes> tight{};                  ///< jobs of planned batches on the host, this reply included
    std::array<int, kProcTypes> tight_new{};              ///< of those, in this reply
    std::array<double, kProcTypes> tight_seconds{};       ///< run times of these
    std::array<double, kProcTypes> first_due = no_due();  ///< s from now: of the other jobs of this project
    std::vector<std::array<int, kProcTypes>> app_in_progress;  ///< by AppFacts::index
    std::vector<Quota> quotas;
    std::vector<Id> workunits;
    EdfSimulation simulation;  ///< empty unless the client sent its workload

    static constexpr std::array<double, kProcTypes> no_due() {
        std::array<double, kProcTypes> all{};
        all.fill(std::numeric_limits<double>::infinity());
        return all;
    }
    /// Of the reply (max_wus_to_send), and of the volunteer (max_jobs).
    Verdict reply_limit() const {
        return jobs >= max_jobs ? refuse(Reason::kJobsPerRpcLimit, jobs, max_jobs) : feasible();
    }
    Verdict user_limit() const {
        const bool reached = max_in_progress > 0 && in_progress_total >= max_in_progress;
        return reached ? refuse(Reason::kUserJobLimit, in_progress_total, max_in_progress) : feasible();
    }
    /// Is there room for no job more, whatever it is?
    bool full() const { return reply_limit().refused() || user_limit().refused(); }
    bool wants(ProcType type) const;
    void add(const MatchContext& context, const Candidate& candidate, double delay_bound);
};

/// Limits and quotas before anything is sent (facts: the request and the host's rows).
Picked initial_picked(const MatchContext& context);

/// The number of jobs that `limit` allows with `processors` of its resource; < 0: no limit.
int allowed_jobs(const JobLimit& limit, int processors);
/// Processors of a type that limits scale with.
int limit_processors(const HostFacts& host, ProcType type);
/// May another job of this app and type be in progress? The first limit that says no.
Verdict in_progress_limits(const MatchContext& context, const Picked& picked, const AppFacts* app, ProcType type);

}  // namespace sluice::match
