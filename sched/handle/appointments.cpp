// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/handle/appointments.h"

#include <algorithm>

#include "sched/handle/assigned_jobs.h"
#include "sched/handle/outgoing_jobs.h"
#include "sched/handle/work_session.h"
#include "sluice/match/job_summary_of.h"
#include "sluice/model/gang.h"

namespace sluice {
namespace {

/// gang_planner believes that this host can run the job: without this nobody would learn why the gang waits.
void tell_refusal(const HandOut& out, const Workunit& w, const Verdict& v) {
    count_refusal(out.decision, v, job_summary_of(w, Result{}));
    out.rpc.log.normal("[HOST#{}] [WU#{} {}] the member of a gang that it was given is not sent: {}",
                       out.rpc.rows.host.id, w.id, w.name, reason_name(v.reason));
}

void begin_soon(const Rpc& rpc, OutgoingJob& job) {
    constexpr double kLatest = 1800;  ///< s
    const double begins = std::clamp(job.chosen.estimated_runtime / 2, double{kGangDownload}, kLatest);
    job.reply.report_deadline = by_hosts_clock(rpc, begins);
    job.reply.report_immediately = true;
}

}  // namespace

double until_appointment(const Rpc& rpc) { return next_gang_contact(rpc.rows.stored.gang_start, rpc.now); }

bool appointment_is_due(const Rpc& rpc) { return gang_is_due(rpc.rows.stored.gang_start, rpc.now); }

bool send_appointed_job(const HandOut& out) {
    const Rpc& rpc = out.rpc;
    AssignmentQuery query;
    query.hostid = rpc.rows.host.id;
    query.appointed = true;
    WorkSession session(rpc, true);
    bool sent = false;
    for (const AssignedJob& job : rpc.services.stores.assignments.load(query)) {
        const Workunit& w = job.workunit;
        if (!job.workunit_found || !needs_instance(job, job.instances, rpc.now_sec)) continue;
        if (const Verdict v = send_assigned_job(out, session, job, JobOrigin::kAppointed); v.refused()) {
            tell_refusal(out, w, v);
            continue;
        }
        sent = true;
        rpc.log.normal("[HOST#{}] [WU#{} {}] a member of a gang is sent", rpc.rows.host.id, w.id, w.name);
    }
    return sent;
}

std::string document_for(const Workunit& workunit, const std::string& result_name) {
    return is_gang_member(workunit) ? with_gang_instance(workunit.xml_doc, result_name) : workunit.xml_doc;
}

void appoint(const Rpc& rpc, OutgoingJob& job) {
    constexpr double kPatience = 3600, kSlowestPace = 8;  ///< s, and times the run time
    begin_soon(rpc, job);
    const double run = job.chosen.estimated_runtime;
    job.db_deadline = after(rpc.now, kSlowestPace * run + kPatience + rpc.config.report_grace_period);
}

void begin_soon_if_appointed(const Rpc& rpc, const Workunit& workunit, OutgoingJob& job) {
    if (is_gang_member(workunit)) begin_soon(rpc, job);
}

}  // namespace sluice
