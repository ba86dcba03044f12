// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What one scheduler RPC knows and decides, in parts. A stage (rpc.cpp: the table) sees all of them and takes those
// that it changes. Stages read the database and decide; nothing is written before commit (dispatch.h), so that a
// decision can be thrown away and made anew.
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "sched/handle/decision.h"
#include "sched/handle/rpc_services.h"
#include "sched/handle/screen_client.h"
#include "sched/rpc/prefs.h"
#include "sched/rpc/reply.h"
#include "sched/rpc/request.h"
#include "sluice/base/files.h"
#include "sluice/model/host.h"

namespace sluice {

/// The job array, and behind its last slot the jobs that one RPC has found for itself (group_jobs.h). Those are
/// nobody's: what keeps two RPCs from sending the same one is that only an UNSENT result can be sent.
class WidePool final : public RpcJobPool {
  public:
    explicit WidePool(RpcJobPool& array) : array_(array) {}
    void add(const JobSummary& job, SlotDoc doc) { jobs_.push_back({job, std::move(doc), SlotState::kPresent}); }

    std::uint32_t size() const override { return array_.size() + extra(); }
    std::uint32_t extra() const override { return static_cast<std::uint32_t>(jobs_.size()); }
    SlotState read(std::uint32_t index, JobSummary& job, SlotRef& ref) const override;
    bool claim(const SlotRef& ref) override;
    void release(const SlotRef& ref) override;
    void discard(const SlotRef& ref) override;
    std::optional<std::string> workunit_xml(const SlotRef& ref) const override;
    std::string keywords(const SlotRef& ref) const override;
    void note_infeasible(const SlotRef& ref) override;
    void note_passed_over(const SlotRef& ref) override;
    bool any_present() const override { return array_.any_present(); }
    std::optional<SlotDoc> document(const SlotRef& ref) const override;
    void consume(const SlotRef& ref) override;
    /// Of the array's.
    void release_all() override { array_.release_all(); }

  private:
    struct Job {
        JobSummary job;
        SlotDoc doc;
        SlotState state = SlotState::kPresent;
    };
    /// Null: the slot is the array's.
    Job* own(const SlotRef& ref) { return ref.index < array_.size() ? nullptr : &jobs_[ref.index - array_.size()]; }
    const Job* own(const SlotRef& ref) const { return const_cast<WidePool*>(this)->own(ref); }

    RpcJobPool& array_;
    std::vector<Job> jobs_;
};

enum class Stage { kContinue, kReply };

/// Who is asking (authenticate).
struct Identity {
    Account account;
    bool weak_key = false;
    std::string email_hash;
    MachineQuery machine;        ///< how a new machine differs from a known one
    std::int64_t rpc_seqno = 0;  ///< to be stored
    bool abandon_jobs = false;   ///< the machine came back without its jobs
};

/// What the database holds of the host and its jobs, and what the host's row will be.
struct HostRows {
    StoredHost stored;                   ///< as in the database; id 0: a new machine
    StoredHost host;                     ///< as it will be
    std::vector<std::string> platforms;  ///< known to the project, primary first
    std::vector<HostAppVersion> versions;
    bool versions_read = false;                                ///< with the host
    std::vector<std::pair<Id, bool>> low_turnaround_versions;  ///< level 1, with <batch_accel>
    bool new_day = false;
    std::vector<PendingMessage> pending_messages;
    std::vector<KnownResult> known;
    std::unordered_map<std::string, std::size_t> known_by_name;

    bool is_new() const { return stored.id == 0; }
    const KnownResult* known_result(const std::string& name) const;
    HostAppVersion* version_row(Id generalized_id);
};

/// What the volunteer wants.
struct Preferences {
    GlobalPrefs global;
    UserFacts user;    ///< without keywords (WorkSession)
    int max_cpus = 0;  ///< 0: no limit
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
    /// `overtaken`: this decision is made again: another process was quicker.
    Rpc(RpcServices& services, const SchedulerRequest& request, const Screening& screening, bool overtaken = false);

    RpcServices& services;
    const RpcLog& log;
    const ProjectConfig& config;
    const SchedulerRequest& request;
    const Screening& screening;
    const bool overtaken;
    const double now;
    const std::int64_t now_sec;
    const std::unique_ptr<WidePool> pool;  ///< that of `services`, and what this RPC found beside it

    Identity who;
    std::optional<FileLock> host_lock;
    HostRows rows;
    Preferences prefs;
    Decision decision;
    RpcWrites writes;
    SchedulerReply reply;
};

/// May jobs be sent, as far as the client and its platforms go?
bool may_send_work(const Rpc& rpc);
/// Does the request tell that the host's versions are needed?
bool versions_matter(const Rpc& rpc);
/// Does this RPC need more of a host's state than its versions, which come with its row?
bool reads_host_state(const Rpc& rpc);
/// The plan of a batch; null: there is none that binds this request.
const PlannedBatch* plan_of_batch(const Rpc& rpc, Id batch);
/// "Request: [USER#1] [HOST#2] …", as scheduler.log has always had it.
void log_request_line(const Rpc& rpc);
/// A reply of the nucleus only: one message, a delay of so many seconds.
Stage refuse(SchedulerReply& reply, ReplyMessage message, double seconds);

// The stages. Each has its own file.
Stage authenticate(const Rpc& rpc, Identity& who, HostRows& rows, SchedulerReply& reply);
Stage lock_host(const Rpc& rpc, std::optional<FileLock>& lock, SchedulerReply& reply);
Stage find_platforms(const Rpc& rpc, HostRows& rows, SchedulerReply& reply);
Stage read_host(const Rpc& rpc, HostRows& rows, RpcWrites& writes);
Stage update_host(const Rpc& rpc, HostRows& rows);
Stage apply_preferences(const Rpc& rpc, Preferences& prefs, RpcWrites& writes, SchedulerReply& reply);
Stage record_results(const Rpc& rpc, HostRows& rows, RpcWrites& writes, SchedulerReply& reply);
Stage hand_out_work(const Rpc& rpc, Decision& decision, RpcWrites& writes, SchedulerReply& reply);
Stage exchange_messages(const Rpc& rpc, HostRows& rows, RpcWrites& writes, SchedulerReply& reply);

/// Runs them in order. kReply: one of them ended the RPC, and rpc.decision.search says why. A dry run leaves out the
/// host's lock (a file) and what comes after the decision.
Stage run_stages(Rpc& rpc, bool dry_run = false);

}  // namespace sluice
