// SPDX-License-Identifier: LGPL-3.0-or-later
// A chosen job -> what the reply says and what the database gets.
#include "sched/handle/outgoing_jobs.h"

#include <algorithm>
#include <limits>

#include "sched/handle/appointments.h"
#include "sluice/base/text.h"
#include "sluice/model/anonymous_version.h"

namespace sluice {
std::int64_t after(double now, double seconds) {
    return static_cast<std::int64_t>(std::min(now + seconds, static_cast<double>(kNever)));
}

std::int64_t by_hosts_clock(const Rpc& rpc, double seconds_from_now) {
    constexpr double kUnknownClock = 600;  ///< s: margin for a client that does not tell its time
    const double told = rpc.request.client_now;
    const double skew = told > 0 ? told - rpc.now : kUnknownClock;
    return std::max<std::int64_t>(after(rpc.now + seconds_from_now, skew), 1);
}

namespace {

Id stored_version_id(const AppChoice& v) {
    return v.anonymous ? anonymous_version_id(v.usage.proc_type) : v.app_version_id;
}

void fill_version(const Rpc& rpc, OutgoingJob& job, const std::string& wu_xml) {
    ReplyJob& r = job.reply;
    const AppChoice& v = job.chosen.version;
    r.app = job.chosen.app;
    r.version = v;
    r.platform_name = v.platform;
    const ProjectTables& tables = rpc.services.tables;
    if (!v.anonymous && v.version_index < tables.versions.size()) {
        r.app_version = &tables.versions[v.version_index];
        if (r.platform_name.empty())
            if (const Platform* p = tables.platform(r.app_version->platformid)) r.platform_name = p->name;
    }
    if (!v.buda_variant.empty()) {
        r.is_buda = true;
        if (const BudaVariant* variant = rpc.services.files.buda.variant(buda_app_name(wu_xml), v.buda_variant)) {
            r.buda_file_infos = variant->file_infos;
            r.buda_file_refs = variant->file_refs;
        }
    }
}

/// A job of a planned batch, sent for the first time or again. The host's own clock judges what its client is told;
/// what the database waits for is the plan's.
void tighten(const Rpc& rpc, const PlannedBatch& plan, OutgoingJob& job) {
    const double bound = static_cast<double>(job.chosen.delay_bound);
    const double reissue = reissue_time(rpc.now, plan.finish, plan.margin * job.chosen.estimated_runtime);
    const std::int64_t fair = after(rpc.now, bound) + rpc.config.report_grace_period;
    job.db_deadline = std::min(std::max(fair, after(reissue, 0)), kNever);
    job.reply.report_immediately = bound > kDay;
    job.reply.report_deadline = by_hosts_clock(rpc, bound);
}

/// The bounds and the deadlines.
OutgoingJob finished(const Rpc& rpc, OutgoingJob job, std::int64_t report_deadline) {
    ReplyJob& r = job.reply;
    r.rsc_fpops_est = job.chosen.job.rsc_fpops_est;
    r.rsc_fpops_bound = job.chosen.job.rsc_fpops_bound;
    r.rsc_memory_bound = job.chosen.job.rsc_memory_bound;
    r.rsc_disk_bound = job.chosen.job.rsc_disk_bound;
    r.workunit_id = job.chosen.job.workunit_id;
    r.result_id = job.chosen.job.result_id;
    r.report_deadline = report_deadline;
    job.db_deadline = std::min(report_deadline + rpc.config.report_grace_period, kNever);
    if (const PlannedBatch* plan = plan_of_batch(rpc, job.chosen.job.batch)) tighten(rpc, *plan, job);
    job.flops_estimate = job.chosen.version.usage.peak_flops;
    return job;
}

/// The document that a reason is about.
std::string broken_document(const OutgoingJob& job, Reason reason) {
    const ReplyJob& r = job.reply;
    if (reason == Reason::kWorkunitDocument) return "workunit.xml_doc: " + what_is_missing(r.wu_xml, "workunit");
    if (reason == Reason::kResultDocument) return "result.xml_doc_in: " + what_is_missing(r.result_xml, "result");
    if (r.app_version == nullptr) return "its app version is not in the job array's tables";
    return fmt::format("app_version.xml_doc of id {}: {}", r.app_version->id,
                       what_is_missing(r.app_version->xml_doc, "app_version"));
}

}  // namespace

std::optional<OutgoingJob> prepare_pool_job(const Rpc& rpc, const Chosen& chosen) {
    auto document = rpc.pool->document(chosen.ref);
    if (!document) return std::nullopt;
    OutgoingJob job;
    job.origin = OutgoingJob::Origin::kPool;
    job.chosen = chosen;
    fill_version(rpc, job, document->wu_xml);
    job.reply.wu_name = std::move(document->wu_name);
    job.reply.wu_xml = std::move(document->wu_xml);
    job.reply.keywords = std::move(document->keywords);
    job.reply.result_name = chosen.facts.result_name;
    job.reply.result_xml = chosen.facts.result_xml_doc_in;
    return finished(rpc, std::move(job), after(static_cast<double>(rpc.now_sec), chosen.delay_bound));
}

OutgoingJob plan_known_job(const Rpc& rpc, const Chosen& chosen, const Workunit& w, const Result& result,
                           std::int64_t report_deadline) {
    OutgoingJob job;
    job.chosen = chosen;
    fill_version(rpc, job, w.xml_doc);
    job.reply.wu_name = w.name;
    job.reply.wu_xml = document_for(w, result.name);
    job.reply.keywords = w.keywords;
    job.reply.result_name = result.name;
    job.reply.result_xml = result.xml_doc_in;
    return finished(rpc, std::move(job), report_deadline);
}

Verdict can_be_written(const Rpc& rpc, const OutgoingJob& job) {
    const Verdict v = can_send(job.reply);
    if (v.refused())
        rpc.log.critical("[HOST#{}] [RESULT#{} {}] [WU#{} {}] no reply can carry this job: {}", rpc.rows.host.id,
                         job.reply.result_id, job.reply.result_name, job.reply.workunit_id, job.reply.wu_name,
                         broken_document(job, v.reason));
    return v;
}

void count_refusal(Decision& decision, const Verdict& verdict, const JobSummary& job) {
    ReasonCount& count = decision.stats.reasons[static_cast<std::size_t>(verdict.reason)];
    ++count.count;
    count.nearest = verdict;
    count.nearest_result = job.result_id;
    count.appid = job.app_id;
}

WorkunitTouch touch_of(const OutgoingJob& job, std::int64_t now) {
    WorkunitTouch t;
    t.id = job.reply.workunit_id;
    t.transition_time = job.db_deadline;
    t.hr_class = job.chosen.hr_class_to_commit;
    if (job.chosen.commit_app_version) t.app_version_id = job.chosen.version.app_version_id;
    const App& app = *job.chosen.app;
    const bool unreplicated = job.chosen.job.target_nresults == 1 && app.target_nresults > 1;
    if (unreplicated && !job.chosen.version.trusted) {  // adaptive replication: this host's word alone is not enough
        t.replicate = app.target_nresults;
        t.transition_time = now;
        t.at_most = false;
    }
    return t;
}

SendWrite send_of(const OutgoingJob& job) {
    SendWrite s;
    s.id = job.reply.result_id;
    s.workunit_id = job.reply.workunit_id;
    s.resend = job.origin == OutgoingJob::Origin::kResend;
    s.report_deadline = job.db_deadline;
    s.flops_estimate = job.flops_estimate;
    s.app_version_id = stored_version_id(job.chosen.version);
    s.hr_class = job.chosen.hr_class_to_commit;
    if (job.chosen.commit_app_version) s.committed_version = job.chosen.version.app_version_id;
    return s;
}

}  // namespace sluice
