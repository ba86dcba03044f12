#pragma once
// What one RPC decided about jobs, kept for those who ask afterwards: the decision log and sched_explain.
#include <span>

#include "sluice/match/matcher.h"

namespace sluice {

struct Rpc;
struct Screening;

/// Was the job array searched for this host? If not, what stood before.
enum class Search {
    kDone,
    kBadRequest,  ///< it could not be read
    kDatabaseDown,
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
/// Why authenticate() had it.
Search ended_by_account(const Rpc& rpc);

struct Decision {
    Search search = Search::kNotAsked;
    MatchStats stats;    ///< of all passes over the array
    WorkRequest wanted;  ///< what was asked for, as the matcher understood it
};

/// Adds the counts of another pass over the array; of two nearest misses the nearer one stays.
void add_stats(MatchStats& sum, const MatchStats& more);

}  // namespace sluice
