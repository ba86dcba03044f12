// SPDX-License-Identifier: LGPL-3.0-or-later
// Targeted and broadcast jobs: the scheduler makes the result itself, in progress from the start, in the transaction
// that the reply depends on. (Upstream inserts it unsent first: a failure leaves it lying about for ever.)
#include "sched/handle/assigned_jobs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <unordered_set>

#include "sched/handle/appointments.h"
#include "sched/handle/outgoing_jobs.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/signing.h"
#include "sluice/db/column_size.h"
#include "sluice/match/job_summary_of.h"
#include "sluice/xml/result_template.h"

namespace sluice {
namespace {

template <typename... Args>
void debug_assign(const Rpc& rpc, fmt::format_string<Args...> format, Args&&... args) {
    if (rpc.config.debug_assignment) rpc.log.normal(format, std::forward<Args>(args)...);
}

bool applies(const Assignment& a, const Rpc& rpc) {
    switch (a.target_type) {
        case AssignTarget::kNone: return true;
        case AssignTarget::kHost: return a.target_id == rpc.rows.host.id;
        case AssignTarget::kUser: return a.target_id == rpc.who.account.user.id;
        case AssignTarget::kTeam: return a.target_id != 0 && a.target_id == rpc.who.account.team.id;
    }
    return false;
}

/// Unique among processes and within one: pid, time, and a random number.
std::string instance_name(const Rpc& rpc, const Workunit& w) {
    return fmt::format("{}_{}_{}_{}", w.name, ::getpid(), rpc.now_sec, rpc.services.env.rng.below(100000000));
}

Result new_result(const Rpc& rpc, const Workunit& w) {
    Result r;
    r.create_time = rpc.now_sec;
    r.workunitid = w.id;
    r.server_state = ServerState::kInProgress;
    r.userid = rpc.who.account.user.id;
    r.sent_time = rpc.now_sec;
    r.name = instance_name(rpc, w);
    r.batch = w.batch;
    r.appid = w.appid;
    r.priority = w.priority;
    r.size_class = w.size_class;
    r.random = static_cast<std::int64_t>(rpc.services.env.rng.below(std::uint64_t{1} << 31));
    const fs::path file = fs::path(rpc.config.project_dir) / w.result_template_file;
    const auto text = read_file(file, 1u << 20);
    if (!text) throw ConfigError("result template " + file.string() + " of workunit " + w.name + " is missing");
    std::optional<PrivateKey> key;
    if (!rpc.config.dont_generate_upload_certificates)
        key = PrivateKey::read(fs::path(rpc.config.key_dir) / "upload_private");
    r.xml_doc_in = expand_result_template(*text, file.string(), output_file_base(r.name, r.random),
                                          rpc.config.upload_url, key ? &*key : nullptr);
    // Whatever its column holds: a request that the database refuses would lose all that it reports.
    if (const std::string why = ColumnSize{"result", "xml_doc_in"}.refusal(r.xml_doc_in.size()); !why.empty())
        throw ConfigError("the result template " + file.string() + " makes too much: " + why);
    return r;
}

/// False: not this time (logged).
bool send_one(const HandOut& out, WorkSession& session, const AssignedJob& job, JobOrigin origin) {
    const Verdict v = send_assigned_job(out, session, job, origin);
    if (!v.refused()) return true;
    if (is_about_documents(v.reason)) count_refusal(out.decision, v, job_summary_of(job.workunit, Result{}));
    debug_assign(out.rpc, "[assign] [WU#{}] assignment {} not sent: {}", job.workunit.id, job.assignment.id,
                 reason_name(v.reason));
    return false;
}

}  // namespace

Verdict send_assigned_job(const HandOut& out, WorkSession& session, const AssignedJob& job, JobOrigin origin) {
    const Rpc& rpc = out.rpc;
    Result result;
    try {
        result = new_result(rpc, job.workunit);
    } catch (const Error& e) {
        rpc.log.critical("[WU#{} {}] assigned job not sent: {}", job.workunit.id, job.workunit.name, e.what());
        return refuse(Reason::kResultDocument);
    }
    Chosen chosen;
    if (const Verdict v = session.matcher().consider(job_summary_of(job.workunit, result), origin, chosen); v.refused())
        return v;
    OutgoingJob planned =
        plan_known_job(rpc, chosen, job.workunit, result, std::min(rpc.now_sec + job.workunit.delay_bound, kNever));
    if (const Verdict v = can_be_written(rpc, planned); v.refused()) return v;
    if (origin == JobOrigin::kAppointed) appoint(rpc, planned);
    planned.origin = OutgoingJob::Origin::kAssigned;
    result.report_deadline = planned.db_deadline;
    result.flops_estimate = planned.flops_estimate;
    result.app_version_id = send_of(planned).app_version_id;
    planned.to_insert = std::move(result);
    planned.assigned = job;
    session.matcher().account(chosen);
    debug_assign(rpc, "[assign] [WU#{}] [HOST#{}] send assignment {}", job.workunit.id, rpc.rows.host.id,
                 job.assignment.id);
    out.decision.jobs.push_back(std::move(planned));
    return feasible();
}

std::vector<AssignedJob> read_assigned_jobs(const Rpc& rpc) {
    AssignmentQuery query;
    query.hostid = rpc.rows.host.id;
    query.userid = rpc.who.account.user.id;
    query.teamid = rpc.who.account.team.id;
    query.targeted = rpc.config.enable_assignment;
    if (rpc.config.enable_assignment_multi)
        for (const Assignment& a : rpc.services.tables.broadcasts)
            if (applies(a, rpc)) query.broadcasts.push_back(a);
    if (!query.targeted && query.broadcasts.empty()) return {};
    return rpc.services.stores.assignments.load(query);
}

bool needs_instance(const AssignedJob& job, const InstanceCounts& n, std::int64_t now) {
    const Workunit& w = job.workunit;
    if (n.on_this_host) return false;
    if (job.assignment.multi) return true;
    if (w.error_mask != 0 || w.need_validate || w.canonical_resultid != 0 || w.transition_time < now) return false;
    return w.target_nresults - n.unsent - n.in_progress - n.successful > 0;
}

bool send_targeted_jobs(const HandOut& out, WorkSession& session, const std::vector<AssignedJob>& assigned) {
    std::unordered_set<Id> sent;  // one workunit may be assigned to a host and to its user
    for (const AssignedJob& job : assigned) {
        if (job.assignment.multi) continue;
        if (!job.workunit_found) {
            out.writes.dead_assignments.push_back(job.assignment.id);
            continue;
        }
        if (!session.matcher().work_needed()) break;
        if (sent.contains(job.workunit.id) || !needs_instance(job, job.instances, out.rpc.now_sec)) continue;
        if (send_one(out, session, job, JobOrigin::kTargeted)) sent.insert(job.workunit.id);
    }
    return !sent.empty();
}

bool send_broadcast_jobs(const HandOut& out, WorkSession& session, const std::vector<AssignedJob>& assigned) {
    std::unordered_set<Id> sent;
    for (const AssignedJob& job : assigned) {
        if (!job.assignment.multi || !job.workunit_found || sent.contains(job.workunit.id)) continue;
        debug_assign(out.rpc, "[assign] processing broadcast type {}", static_cast<int>(job.assignment.target_type));
        if (needs_instance(job, job.instances, out.rpc.now_sec) && send_one(out, session, job, JobOrigin::kBroadcast))
            sent.insert(job.workunit.id);
    }
    return !sent.empty();
}

}  // namespace sluice
