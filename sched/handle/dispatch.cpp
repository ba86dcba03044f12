// SPDX-License-Identifier: LGPL-3.0-or-later
// One transaction for the whole RPC. Rows are locked in an order that every process of ours shares: workunits by id,
// results by id, host_app_version, host, the rest. All writes are conditional on what was read:
//   - a job that is no longer sendable is dropped, and the transaction made anew without it, so that a commitment of
//     its workunit (HR class, app version) is not left behind;
//   - a report that another process was quicker with, a host that another RPC changed, a machine that was registered
//     meanwhile: everything is decided again.
// A client never receives a job that is not committed; what is not committed goes back to the job array.
#include "sched/handle/dispatch.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <unordered_set>

#include "sched/handle/assigned_jobs.h"
#include "sched/handle/outgoing_jobs.h"

namespace sluice {
namespace {

constexpr int kAttempts = 6;
constexpr std::chrono::seconds kPatience{10};  ///< no further attempt after that

/// Thrown through the transaction to roll it back.
struct JobsLost {
    std::vector<Id> results, assigned_workunits;
};
struct OutdatedDecision {
    const char* what;
};

/// Tells this attempt from every other one, also of the same second. Not from Env: that may be seeded.
std::int64_t new_attempt() {
    static thread_local std::random_device device;
    return static_cast<std::int64_t>((std::uint64_t{device()} << 31 ^ device()) >> 1);
}

struct Transaction {
    Rpc& rpc;
    const RpcStores& db;

    void run();
    void make_host();
    void touch_workunits();
    void insert_assigned();
    void write_results();
    void change_versions();
    void write_rest();
};

std::vector<WorkunitTouch> merged_touches(const Rpc& rpc) {
    std::map<Id, WorkunitTouch> by_id;
    for (const OutgoingJob& job : rpc.decision.jobs) {
        const WorkunitTouch t = touch_of(job, rpc.now_sec);
        const auto [it, is_new] = by_id.emplace(t.id, t);
        if (is_new) continue;
        it->second.transition_time = std::min(it->second.transition_time, t.transition_time);
        it->second.at_most = it->second.at_most && t.at_most;
    }
    const auto now_for = [&](const std::vector<Id>& workunits) {
        for (const Id id : workunits) {
            WorkunitTouch& t = by_id[id];
            t.id = id;
            t.transition_time = rpc.now_sec;
            t.at_most = false;
        }
    };
    for (const SendWrite& s : rpc.writes.expired) {
        const auto [it, is_new] = by_id.emplace(s.workunit_id, WorkunitTouch{});
        if (is_new) it->second = {s.workunit_id, s.report_deadline, true, 0, 0, 0};
        it->second.transition_time = std::min(it->second.transition_time, s.report_deadline);
    }
    now_for(rpc.writes.reported_workunits);
    now_for(rpc.writes.detached_workunits);
    std::vector<WorkunitTouch> touches;
    for (auto& [id, touch] : by_id) touches.push_back(touch);
    return touches;
}

/// Inserts the new machine first: the results need its id.
void Transaction::make_host() {
    if (!rpc.rows.is_new()) return;
    rpc.rows.host.id =
        db.accounts.insert_host(rpc.rows.host, rpc.who.machine.by_description ? &rpc.who.machine : nullptr);
    if (rpc.rows.host.id == 0) throw OutdatedDecision{"the machine was registered meanwhile"};
}

/// The results that the scheduler makes itself, if they are still needed now that the workunits are locked.
void Transaction::insert_assigned() {
    std::vector<Id> workunits;
    for (const OutgoingJob& job : rpc.decision.jobs)
        if (job.origin == OutgoingJob::Origin::kAssigned) workunits.push_back(job.reply.workunit_id);
    if (workunits.empty()) return;
    const std::vector<InstanceCounts> now = db.assignments.instances_now(workunits, rpc.rows.host.id);
    JobsLost lost;
    std::vector<Result> results;
    for (OutgoingJob& job : rpc.decision.jobs) {
        if (job.origin != OutgoingJob::Origin::kAssigned) continue;
        const Id workunit = job.reply.workunit_id;
        const auto it = std::find_if(now.begin(), now.end(), [&](const auto& n) { return n.workunitid == workunit; });
        // This transaction may have lowered transition_time already; the rest is what was read.
        if (!needs_instance(job.assigned, it == now.end() ? InstanceCounts{} : *it, rpc.now_sec))
            lost.assigned_workunits.push_back(workunit);
        job.to_insert.hostid = rpc.rows.host.id;
        results.push_back(job.to_insert);
    }
    if (!lost.assigned_workunits.empty()) throw lost;
    db.assignments.insert_results(results);
}

void Transaction::write_results() {
    db.results.detach(rpc.rows.host.id, rpc.now_sec, rpc.writes.detached);
    rpc.writes.reports.hostid = rpc.rows.host.id;
    if (!rpc.writes.reports.results.empty())
        db.results.store_reports(rpc.writes.reports, [](const std::vector<Id>&) {
            throw OutdatedDecision{"a reported result changed meanwhile"};
        });
    rpc.services.reach("reports_written");
    SendBatch batch;
    batch.hostid = rpc.rows.host.id;
    batch.userid = rpc.who.account.user.id;
    batch.now = rpc.now_sec;
    batch.one_per_user = rpc.config.one_result_per_user_per_wu;
    batch.one_per_host = rpc.config.one_result_per_host_per_wu;
    for (const OutgoingJob& job : rpc.decision.jobs)
        if (job.origin != OutgoingJob::Origin::kAssigned) batch.results.push_back(send_of(job));
    for (const SendWrite& expired : rpc.writes.expired) batch.results.push_back(expired);
    if (batch.results.empty()) return;
    db.results.send(batch, [](const std::vector<Id>& lost) { throw JobsLost{lost, {}}; });
    rpc.services.reach("results_written");
}

/// Reports' changes and one job sent for each new job, one row per version.
void Transaction::change_versions() {
    std::map<Id, VersionChange> by_id;
    for (const VersionChange& c : rpc.writes.versions) {
        VersionChange& sum = by_id[c.generalized_id];
        sum.generalized_id = c.generalized_id;
        sum.max_jobs_per_day += c.max_jobs_per_day;
        sum.lost_trust |= c.lost_trust;
    }
    for (const OutgoingJob& job : rpc.decision.jobs) {
        if (job.origin == OutgoingJob::Origin::kResend) continue;
        const AppChoice& v = job.chosen.version;
        const Id id = v.generalized_id != 0
                          ? v.generalized_id
                          : generalized_version_id(job.chosen.job.app_id, send_of(job).app_version_id);
        VersionChange& sum = by_id[id];
        sum.generalized_id = id;
        ++sum.jobs_sent;
    }
    std::vector<VersionChange> changes;
    for (auto& [id, change] : by_id) changes.push_back(change);
    if (!changes.empty()) db.host_states.change_versions(rpc.rows.host.id, rpc.rows.new_day, changes);
}

void Transaction::write_rest() {
    const Id user = rpc.who.account.user.id;
    if (rpc.rows.is_new())
        db.accounts.update_user(user, rpc.writes.user);
    else
        db.accounts.update_host(rpc.rows.stored, rpc.rows.host, user, rpc.writes.user,
                                [] { throw OutdatedDecision{"another RPC of this host was quicker"}; });
    if (!rpc.writes.messages.empty()) {
        db.host_states.insert_messages(rpc.rows.host.id, rpc.now_sec, rpc.writes.messages);
        if (rpc.writes.trickle_day.userid != 0)
            db.host_states.add_trickle_bytes(rpc.writes.trickle_day,
                                             static_cast<std::int64_t>(rpc.request.trickle_bytes));
    }
    if (!rpc.writes.delivered.empty()) db.host_states.mark_delivered(rpc.writes.delivered);
    if (!rpc.writes.dead_assignments.empty()) db.assignments.remove(rpc.writes.dead_assignments);
}

/// Nothing but the host's row changes, which is one statement: for each host some of its requests are so.
bool only_the_host(const Rpc& rpc) {
    const auto& w = rpc.writes;
    const bool jobs = !rpc.decision.jobs.empty() || !w.expired.empty() || !w.detached.empty() ||
                      !w.reports.results.empty() || !w.reported_workunits.empty() || !w.detached_workunits.empty() ||
                      !w.versions.empty();
    const bool rest = !w.messages.empty() || !w.delivered.empty() || !w.dead_assignments.empty();
    return !rpc.rows.is_new() && rpc.rows.stored.attempt && !jobs && !rest;
}

void Transaction::run() {
    const auto write = [&] {
        rpc.rows.host.attempt = new_attempt();
        make_host();
        const std::vector<WorkunitTouch> touches = merged_touches(rpc);
        if (!touches.empty()) db.results.touch_workunits(touches);
        rpc.services.reach("workunits_written");
        insert_assigned();
        write_results();
        change_versions();
        write_rest();
        rpc.services.reach("before_commit");
    };
    const auto took_place = [&] { return db.accounts.written_by(rpc.rows.host.id, *rpc.rows.host.attempt); };
    if (only_the_host(rpc))
        db.unit_of_work.run_one(write, took_place);
    else
        db.unit_of_work.run(write, took_place);
    rpc.services.reach("committed");
}

/// Takes lost jobs out of the reply; their slots go back (the next scan finds them gone).
void drop(Rpc& rpc, const JobsLost& lost) {
    const auto among = [](const std::vector<Id>& ids, Id id) {
        return std::find(ids.begin(), ids.end(), id) != ids.end();
    };
    std::erase_if(rpc.decision.jobs, [&](const OutgoingJob& job) {
        const bool gone = job.origin == OutgoingJob::Origin::kAssigned
                              ? among(lost.assigned_workunits, job.reply.workunit_id)
                              : among(lost.results, job.reply.result_id);
        if (!gone) return false;
        rpc.log.normal("[HOST#{}] [RESULT#{} {}] [WU#{}] can't send: changed by another process meanwhile",
                       rpc.rows.host.id, job.reply.result_id, job.reply.result_name, job.reply.workunit_id);
        if (job.origin == OutgoingJob::Origin::kPool) rpc.pool->release(job.chosen.ref);
        count_refusal(rpc.decision, refuse(Reason::kRaceLost), job.chosen.job);
        return true;
    });
    std::erase_if(rpc.writes.expired, [&](const SendWrite& s) { return among(lost.results, s.id); });
}

}  // namespace

CommitOutcome commit(Rpc& rpc) {
    rpc.services.reach("decided");
    const auto until = std::chrono::steady_clock::now() + kPatience;
    int attempt = 1;
    for (; attempt <= kAttempts && std::chrono::steady_clock::now() < until; ++attempt) {
        if (rpc.rows.is_new()) rpc.rows.host.id = 0;
        try {
            Transaction{rpc, rpc.services.stores}.run();
            for (const OutgoingJob& job : rpc.decision.jobs)
                if (job.origin == OutgoingJob::Origin::kPool) rpc.pool->consume(job.chosen.ref);
            rpc.services.reach("consumed");
            return CommitOutcome::kYes;
        } catch (const JobsLost& lost) {
            drop(rpc, lost);
            // Others may be left for this host: once, it is looked for them.
            if (rpc.decision.jobs.empty() && rpc.screening.wants_work && !rpc.overtaken)
                return CommitOutcome::kDecideAgain;
        } catch (const OutdatedDecision& why) {
            rpc.log.normal("[HOST#{}] deciding again: {}", rpc.rows.host.id, why.what);
            return CommitOutcome::kDecideAgain;
        }
    }
    rpc.log.warning("[HOST#{}] jobs were lost to other processes {} times; deciding again", rpc.rows.host.id,
                    attempt - 1);
    return CommitOutcome::kDecideAgain;
}

}  // namespace sluice
