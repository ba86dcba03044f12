// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What one RPC decided about jobs, kept for those who ask afterwards: the decision log and sched_explain.
#include <span>
#include <vector>

#include "sched/rpc/reply.h"
#include "sluice/db/assignment_store.h"
#include "sluice/match/matcher.h"
#include "sluice/model/job.h"

namespace sluice {

struct Screening;

/// Was the job array searched for this host? If not, what stood before.
enum class Search {
    kDone,
    kBadRequest,  ///< it could not be read
    kDatabaseDown,
    kDatabaseFailed,  ///< it answered a statement with an error
    kNotAsked,        ///< the request asked for no work
    kDontSendJobs,    ///< <dont_send_jobs>
    kClientTooOld,    ///< <min_core_client_version>
    kOsBanned,        ///< <ban_os>
    kCpuBanned,       ///< <ban_cpu>
    kUnknownAccount,  ///< no such account or host, or the key is not the account's
    kHostBanned,      ///< host.max_results_day is -1
    kHostBusy,        ///< another request of this host is being handled
    kUnknownPlatform,
    kArrayEmpty,
    kKeyUnknown,        ///< the client holds another code-signing key
    kTooRecent,         ///< <min_sendwork_interval>
    kLostJobsResent,    ///< lost jobs went out again instead
    kAssignedJobsSent,  ///< targeted or broadcast jobs went out instead
    kOwnJobsOnly,       ///< user.seti_id: only jobs that are meant for this account's hosts
    kHrUnknownForAll,   ///< every app replicates homogeneously, and the host's class is not known
    kCount
};
struct SearchInfo {
    Search search;
    const char* name;    ///< stable: "done", "not_asked" …
    const char* advice;  ///< one sentence: what it means and what an admin can do
};
/// One row for each, in order.
std::span<const SearchInfo> search_infos();
const SearchInfo& search_info(Search search);

/// Why screen_client() had the last word.
Search ended_by_screening(const Screening& screening);

/// A job that the reply will carry once the database has it.
struct OutgoingJob {
    enum class Origin { kPool, kResend, kAssigned };
    Origin origin = Origin::kPool;
    Chosen chosen;  ///< kPool: its slot is held
    ReplyJob reply;
    std::int64_t db_deadline = 0;  ///< grace period included
    double flops_estimate = 0;
    Result to_insert;      ///< kAssigned
    AssignedJob assigned;  ///< kAssigned
};

struct Decision {
    Search search = Search::kNotAsked;
    MatchStats stats;    ///< of all scans of the array
    WorkRequest wanted;  ///< what was asked for, as the matcher understood it
    std::vector<OutgoingJob> jobs;
};

/// Adds the counts of another scan of the array; of two nearest misses the nearer one stays.
void add_stats(MatchStats& sum, const MatchStats& more);

}  // namespace sluice
