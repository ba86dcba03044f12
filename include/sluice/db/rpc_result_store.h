// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Results and workunits as a scheduler RPC reads and writes them: everything in bulk, so that the number of statements
// does not depend on the number of jobs. Writers touch workunits by id, then results by id (every process shares that
// order) and are called inside one UnitOfWork.
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/model/job.h"
#include "sluice/model/job_summary.h"

namespace sluice {

/// A result that a client named or that is in progress on its host, with the little that deciding needs.
struct KnownResult {
    Id id = 0, workunitid = 0, appid = 0;
    std::string name;
    ServerState server_state = ServerState::kUnsent;
    Outcome outcome = Outcome::kInit;
    ValidateState validate_state = ValidateState::kInit;
    FileDeleteState file_delete_state = FileDeleteState::kInit;
    ClientState client_state = ClientState::kNew;
    std::int64_t sent_time = 0, received_time = 0, report_deadline = 0;
    Id hostid = 0;
    Id userid_of_host = 0;  ///< owner of `hostid`; 0: no such host
    Id app_version_id = 0;
    int wu_error_mask = 0;
    AssimilateState wu_assimilate_state = AssimilateState::kInit;
    double wu_memory_bound = 0;
    Id batch = 0;
};
struct ResultQuery {
    std::vector<std::string> names;
    Id in_progress_on_host = 0;  ///< 0: not asked for
};

/// A lost job with all that sending it again needs.
struct LostJob {
    Result result;  ///< id, name, xml_doc_in, deadlines, priority
    bool workunit_found = false;
    Workunit workunit;
};

struct FactsQuery {
    std::vector<Id> results;  ///< ids
    Id userid = 0, hostid = 0;
    bool count_user = false, count_host = false;  ///< other instances of the workunit with this user / on this host
};

/// What a workunit becomes because of reports and sends.
struct WorkunitTouch {
    Id id = 0;
    std::int64_t transition_time = 0;
    bool at_most = true;    ///< min(current, transition_time); false: exactly
    int hr_class = 0;       ///< set if the workunit is not committed yet
    Id app_version_id = 0;  ///< likewise
    int replicate = 0;      ///< > 0: target_nresults and min_quorum
};

/// A reported result, accepted.
struct ReportWrite {
    Id id = 0;
    ClientState client_state = ClientState::kNew;
    double cpu_time = 0, elapsed_time = 0, peak_working_set_size = 0, peak_swap_size = 0, peak_disk_usage = 0;
    int exit_status = 0, app_version_num = 0;
    Outcome outcome = Outcome::kSuccess;
    ValidateState validate_state = ValidateState::kInit;
    std::string_view stderr_out, xml_doc_out;  ///< the request holds them: up to 128 KiB a job, not copied
};
struct ReportBatch {
    Id hostid = 0, teamid = 0;
    std::int64_t now = 0;
    std::vector<ReportWrite> results;
};

/// A result that becomes (or stays) this host's.
struct SendWrite {
    Id id = 0, workunit_id = 0;
    bool resend = false;               ///< it is in progress on this host already
    std::int64_t sent_time = 0;        ///< 0: the batch's `now`
    std::int64_t report_deadline = 0;  ///< grace period included
    double flops_estimate = 0;
    Id app_version_id = 0;
    int hr_class = 0;          ///< > 0: the workunit must be committed to it by now
    Id committed_version = 0;  ///< > 0: likewise
};
struct SendBatch {
    Id hostid = 0, userid = 0;
    std::int64_t now = 0;
    bool one_per_user = false, one_per_host = false;
    std::vector<SendWrite> results;
};

/// Jobs of file groups. A group's workunits are looked at in order of their ids from `from` on, and then from the first
/// on: where a request starts is random, so that hosts with the same file do not all want the same jobs.
struct GroupQuery {
    struct Part {
        Id group = 0, from = 0;
    };
    std::vector<Part> parts;
    int look_at = 0;  ///< workunits of each part before and behind `from`, at most: most may be out on hosts
    int jobs = 0;     ///< at most, of all parts
};

/// Called with the ids of rows that were not written, as another process changed them meanwhile: at once, or with a
/// later verb, at the latest before COMMIT. Within a transaction it throws; what was written behind it is not done.
using OnRefused = std::function<void(const std::vector<Id>& ids)>;

class RpcResultStore {
  public:
    virtual ~RpcResultStore() = default;
    virtual std::vector<KnownResult> load(const ResultQuery& query) = 0;
    virtual std::vector<LostJob> lost_jobs(std::span<const Id> results) = 0;
    /// In the order asked.
    virtual std::vector<WorkunitFacts> facts(const FactsQuery& query) = 0;

    /// Unsent results that a feeder would put into the array; in any order. Without our tables: none.
    virtual std::vector<UnsentJob> jobs_of_groups(const GroupQuery& query) = 0;

    virtual void touch_workunits(std::span<const WorkunitTouch> touches) = 0;
    /// Only results that are in progress or timed out and not received meanwhile.
    virtual void store_reports(const ReportBatch& batch, const OnRefused& refused) = 0;
    /// UNSENT (or, for resends, in progress on this host) results of workunits that have no error and are committed as
    /// asked; one_per_* are checked in the same statement, under the workunits' locks.
    virtual void send(const SendBatch& batch, const OnRefused& refused) = 0;
    /// In-progress results of a host that no longer has them: over, CLIENT_DETACHED.
    virtual void detach(Id hostid, std::int64_t now, std::span<const Id> results) = 0;
};

}  // namespace sluice
