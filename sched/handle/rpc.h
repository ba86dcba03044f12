#pragma once
// The state of one scheduler RPC on its way through the stages (pipeline.cpp). Stages read the database and decide;
// nothing is written before commit (dispatch.h), so that a decision can be thrown away and made anew.
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "decision.h"
#include "rpc_services.h"
#include "sched/rpc/prefs.h"
#include "sched/rpc/reply.h"
#include "sched/rpc/request.h"
#include "screening.h"
#include "sluice/base/files.h"
#include "sluice/match/matcher.h"

namespace sluice {

enum class Stage { kContinue, kReply };

/// A job that the reply will carry once the database has it.
struct PlannedJob {
    enum class Origin { kPool, kResend, kAssigned };
    Origin origin = Origin::kPool;
    Chosen chosen;  ///< kPool: its slot is held
    ReplyJob reply;
    std::int64_t db_deadline = 0;  ///< grace period included
    double flops_estimate = 0;
    Result to_insert;      ///< kAssigned
    AssignedJob assigned;  ///< kAssigned
};

/// Everything that commit writes, besides planned jobs and the host.
struct RpcWrites {
    UserChange user;
    ReportBatch reports;
    std::vector<Id> reported_workunits;  ///< looked at by the transitioner at once
    std::vector<Id> detached;            ///< results of a host that came back without them
    std::vector<Id> detached_workunits;
    std::vector<SendWrite> expired;       ///< lost jobs that can't be sent again: to time out now
    std::vector<VersionChange> versions;  ///< by reports; sends are added at commit
    std::vector<MessageFromHost> messages;
    AccountDay trickle_day;  ///< userid 0: what the account sends is not counted
    std::vector<Id> delivered;
    std::vector<Id> dead_assignments;
};

inline constexpr std::int64_t kDay = 86400;  ///< s
/// In seconds; spreads the change of day over all hosts, or accounts. Any fixed number below kDay serves.
std::int64_t day_offset(Id id);

struct Rpc {
    Rpc(RpcServices& s, const SchedulerRequest& r, const Screening& sc);

    RpcServices& services;
    const ProjectConfig& config;
    const SchedulerRequest& request;
    const Screening& screening;
    SchedulerReply reply;
    double now = 0;
    std::int64_t now_sec = 0;

    // Who is asking (authenticate).
    Account account;
    bool weak_key = false;
    std::string email_hash;
    StoredHost stored;           ///< as in the database; id 0: a new machine
    StoredHost host;             ///< as it will be
    MachineQuery machine;        ///< how a new machine is told from a known one
    std::int64_t rpc_seqno = 0;  ///< to be stored
    bool abandon_jobs = false;   ///< the machine came back without its jobs
    std::optional<FileLock> host_lock;

    // What the database holds (read_host, read_results).
    std::vector<HostAppVersion> versions;
    bool versions_read = false;                                ///< with the host
    std::vector<std::pair<Id, bool>> low_turnaround_versions;  ///< level 1, with <batch_accel>
    bool new_day = false;
    std::vector<PendingMessage> pending_messages;
    std::vector<KnownResult> known;
    std::unordered_map<std::string, std::size_t> known_by_name;
    const KnownResult* known_result(const std::string& name) const;

    // Decisions.
    GlobalPrefs prefs;
    UserFacts user;
    int pref_max_cpus = 0;               ///< 0: no limit
    std::vector<std::string> platforms;  ///< known to the project, primary first
    bool overtaken = false;              ///< this decision is made again: another process was quicker
    bool may_send_work = true;
    bool resend_asked = false;  ///< a result came twice: the last reply may have been lost
    std::vector<PlannedJob> jobs;
    Decision decision;  ///< about new jobs
    RpcWrites writes;

    bool new_host() const { return stored.id == 0; }
    void delay(double seconds);
    /// A reply of the nucleus only: one message, a delay.
    Stage refuse(ReplyMessage message, double seconds);
    void say(ReplyMessage message) { reply.messages.push_back(std::move(message)); }
    HostAppVersion* version_row(Id generalized_id);
};

/// Does this RPC need more of a host's state than its versions, which come with its row?
bool reads_host_state(const Rpc& rpc);

/// "Request: [USER#1] [HOST#2] …", as scheduler.log has always had it.
void log_request_line(const Rpc& rpc);

// The stages. Each has its own file.
Stage authenticate(Rpc& rpc);
Stage lock_host(Rpc& rpc);
Stage read_host(Rpc& rpc);
Stage update_host(Rpc& rpc);
Stage record_results(Rpc& rpc);
Stage hand_out_work(Rpc& rpc);  ///< resend_lost, aborts, send_work
Stage exchange_messages(Rpc& rpc);

/// Runs them in order. kReply: one of them ended the RPC, and rpc.decision.search says why. A dry run leaves out the
/// host's lock (a file) and what comes after the decision.
Stage run_stages(Rpc& rpc, bool dry_run = false);

}  // namespace sluice
