// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/handle/decision.h"

#include <iterator>

#include "sched/handle/screen_client.h"
#include "sched/match/tally.h"

namespace sluice {
namespace {

constexpr SearchInfo kInfos[] = {
    {Search::kDone, "done", "The array was searched. The reasons say what became of its jobs."},
    {Search::kBadRequest, "bad_request",
     "What came in was no scheduler request. Nothing to do, unless a proxy cuts requests."},
    {Search::kDatabaseDown, "database_down",
     "The scheduler had no connection to the database. The client comes back after <maintenance_delay>. Look at the database's own log."},
    {Search::kDatabaseFailed, "database_failed",
     "The database refused a statement, or the connection broke. The client comes back after <maintenance_delay>. The scheduler's log names the error and what to do."},
    {Search::kNotAsked, "not_asked",
     "The client asked for no work: its queue is full enough, or the volunteer chose 'no new tasks'."},
    {Search::kDontSendJobs, "dont_send_jobs", "<dont_send_jobs> in config.xml is on: nobody gets jobs."},
    {Search::kClientTooOld, "client_too_old",
     "The client is older than <min_core_client_version> in config.xml. The volunteer has to upgrade."},
    {Search::kOsBanned, "os_banned", "The host's system and version match a <ban_os> in config.xml."},
    {Search::kCpuBanned, "cpu_banned", "The host's processor matches a <ban_cpu> in config.xml, or <no_amd_k6> is on."},
    {Search::kUnknownAccount, "unknown_account",
     "The request's key belongs to no account or not to this host's. The volunteer has to attach to the project again."},
    {Search::kHostBanned, "host_banned", "host.max_results_day is -1. Set it to 0 to let the host in again."},
    {Search::kHostBusy, "host_busy",
     "The scheduler was handling another request of this host. If that stays so, look for hanging schedulers in the log."},
    {Search::kUnknownPlatform, "unknown_platform",
     "The project knows none of the host's platforms. Add them to project.xml, run xadd, and touch reread_db."},
    {Search::kArrayEmpty, "array_empty",
     "The array holds no job. Either no results are unsent, their apps are deprecated, or the feeder leaves them out or does not run (show_shmem, status)."},
    {Search::kKeyUnknown, "key_unknown",
     "The client holds another code-signing key. Put the old key and its signature into the key folder as old_key_0 and signature_0."},
    {Search::kTooRecent, "too_recent",
     "The host asked again before <min_sendwork_interval> had passed. It gets work when it asks later."},
    {Search::kLostJobsResent, "lost_jobs_resent",
     "Jobs that the host had lost went out again. Such a reply holds no new ones."},
    {Search::kAssignedJobsSent, "assigned_jobs_sent",
     "Jobs assigned to this host, its user or team went out. Such a reply holds no others."},
    {Search::kOwnJobsOnly, "own_jobs_only",
     "The account takes only jobs for its own computers (user.seti_id is not 0), and there was none."},
    {Search::kHrUnknownForAll, "hr_unknown_for_all",
     "Every app uses homogeneous redundancy, and the host's class is unknown. compat_level 1 knows more systems; coarse classes (type 2) hold more hosts."},
};
static_assert(std::size(kInfos) == static_cast<std::size_t>(Search::kCount));

}  // namespace

std::span<const SearchInfo> search_infos() { return kInfos; }
const SearchInfo& search_info(Search search) { return kInfos[static_cast<std::size_t>(search)]; }

Search ended_by_screening(const Screening& screening) {
    switch (screening.refused) {
        case Screening::Refused::kDontSendJobs: return Search::kDontSendJobs;
        case Screening::Refused::kOldClient: return Search::kClientTooOld;
        case Screening::Refused::kOs: return Search::kOsBanned;
        case Screening::Refused::kCpu: return Search::kCpuBanned;
        case Screening::Refused::kNo: break;
    }
    return Search::kArrayEmpty;
}

void add_stats(MatchStats& sum, const MatchStats& more) {
    sum.slots_scanned += more.slots_scanned;
    sum.slots_locked += more.slots_locked;
    sum.candidates += more.candidates;
    sum.claims_lost += more.claims_lost;
    sum.fact_loads += more.fact_loads;
    sum.locked_over_limit |= more.locked_over_limit;
    sum.pool_empty &= more.pool_empty;
    for (std::size_t r = 0; r < sum.reasons.size(); ++r) {
        ReasonCount &a = sum.reasons[r], b = more.reasons[r];
        if (b.count == 0) continue;
        b.count += a.count;
        if (a.count > 0 && match::miss(a.nearest) <= match::miss(b.nearest))
            a.count = b.count;
        else
            a = b;
    }
    for (const Obstacle& o : more.obstacles) match::note(sum, o);
    sum.gpu_demands = more.gpu_demands;  // the later scan knows all versions that were looked at
    sum.apps_with_jobs.insert(sum.apps_with_jobs.end(), more.apps_with_jobs.begin(), more.apps_with_jobs.end());
}

}  // namespace sluice
