// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What another scheduler answered to recorded requests, beside what Sluice would have answered: differences by pair of
// reasons. Decides and reads; writes nothing.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sched/explain/live_project.h"
#include "sched/shadow/past_state.h"
#include "sched/shadow/rpc_files.h"

namespace sluice {

/// What a request came to, in one word: "sent", or why there was no job.
struct RpcOutcome {
    std::string word;
    std::map<std::string, int> kinds;  ///< jobs by "APP" or "APP [PLAN_CLASS]"
    int jobs() const;
};

struct ComparedRpc {
    double at = 0;
    std::string file;
    Id hostid = 0;
    bool wants_work = false;
    RpcOutcome theirs, ours;
    std::string host_class;  ///< "x86_64-pc-linux-gnu, 4-7 CPUs"
    double ms = 0;           ///< of our decision
    bool same = false;
    bool depends_on_start = false;  ///< our decision is another one where the scan starts elsewhere
    std::string row;                ///< of docs/compat.md, its first words; "": not explained
    std::string theirs_said, ours_said;
};

/// Differences of one pair of reasons.
struct DifferenceGroup {
    std::string theirs, ours, row;
    int count = 0, their_jobs = 0, our_jobs = 0;
    std::vector<ComparedRpc> examples;
};

struct SideCount {
    std::int64_t jobs = 0, requests_with_jobs = 0;
    std::map<std::string, int> empty;  ///< requests without a job, by reason
    std::map<std::string, std::int64_t> by_app, by_class;
    void add(const ComparedRpc& rpc, const RpcOutcome& outcome);
};

/// What is said only of live requests.
struct LiveCounts {
    bool is_live = false;
    double lasted = 0;                       ///< s
    std::int64_t at_once = 0;                ///< decided on a snapshot of the moment when they came
    std::int64_t later = 0;                  ///< on one of later
    std::int64_t failed = 0;                 ///< the database did not answer
    std::int64_t refused = 0, given_up = 0;  ///< TeedRequests
    double full_for = 0;                     ///< s
};

struct Comparison {
    int level = 0;
    std::string theirs_name, ours_name, jobs_from;
    std::int64_t requests = 0, compared = 0, same = 0, without_reply = 0, unreadable = 0, not_judged = 0, dropped = 0;
    double first = 0, last = 0;  ///< UNIX s
    SideCount theirs, ours;
    std::vector<DifferenceGroup> groups;                                         ///< the largest first
    std::vector<double> ms;                                                      ///< of each decision
    std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> jobs_by_time;  ///< hour: theirs, ours
    std::vector<std::string> notes;
    std::vector<double> their_ms;  ///< of each request, where it was seen live: from its coming until their process
                                   ///< ended, where that was seen
    LiveCounts live;
    bool any_difference() const { return !groups.empty(); }
};

struct ComparisonOptions {
    std::uint64_t seed = 1;
    int examples = 3;
};

/// Adds up, one request after the other.
class ComparisonSum {
  public:
    explicit ComparisonSum(const ComparisonOptions& options) : options_(options) {}
    void add(const ComparedRpc& rpc);
    Comparison& result() { return result_; }
    /// Puts the groups in order.
    Comparison take();

  private:
    const ComparisonOptions options_;
    Comparison result_;
    std::map<std::pair<std::string, std::string>, DifferenceGroup> groups_;
};

/// Decides recorded requests by one configuration, each on the state of its moment.
class PastDecider {
  public:
    PastDecider(LiveProject& project, const std::vector<JobSentThen>& sent) : project_(project), past_(project, sent) {}
    void move_to(std::size_t number, const RecordedRpc& rpc) { past_.move_to(number, rpc); }
    void add_sent(const std::vector<JobSentThen>& sent) { past_.add_sent(sent); }
    void refill() { past_.refill(); }
    DryDecision decide(const SchedulerRequest& request, std::uint64_t seed);
    RpcOutcome outcome_of(const DryDecision& decision) const;
    const PastState& past() const { return past_; }
    const LiveProject& project() const { return project_; }

  private:
    LiveProject& project_;
    PastState past_;
};

RpcOutcome outcome_of(const TheirReply& reply, bool wants_work);
/// What the database says was sent: for requests whose replies nobody kept.
std::string host_class_of(const SchedulerRequest& request);
/// The jobs of a reply, without those that were sent a second time.
std::vector<JobSentThen> jobs_sent_by(const TheirReply& reply, std::size_t request);
/// Whether the request was read and has its reply. If not, it is counted in `c`; of what can't be read the first `why`
/// is noted.
bool can_be_compared(Comparison& c, const std::optional<RecordedRpc>& rpc, const std::string& why);
/// One request: ours beside theirs (`rpc.reply` is there). Where they differ, ours is made again from other slots on.
ComparedRpc compare_one(PastDecider& decider, const RecordedRpc& rpc, std::uint64_t seed);
/// The jobs of replies, by request; those that were sent a second time are left out.
std::vector<JobSentThen> jobs_sent_by(const std::vector<RpcFile>& files, const RequestLimits& limits);

/// Throws Error, DbError.
/// What a comparison says of the project that decides.
void name_sides(Comparison& c, const LiveProject& project, const std::string& theirs);
Comparison compare_with_recorded(LiveProject& project, const std::vector<RpcFile>& files,
                                 const ComparisonOptions& options);

}  // namespace sluice
