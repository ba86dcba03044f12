// SPDX-License-Identifier: LGPL-3.0-or-later
#include <cmath>
#include <nlohmann/json.hpp>

#include "sched/explain/report.h"
#include "sluice/match/policies.h"
#include "sluice/match/reasons.h"

namespace sluice {
namespace {

using Ordered = nlohmann::ordered_json;

Ordered number(double v) { return std::isfinite(v) ? Ordered(v) : Ordered(); }

Ordered verdict_json(const Verdict& v) {
    Ordered j{{"reason", reason_name(v.reason)}, {"value", number(v.value)}, {"required", number(v.required)}};
    if (const char* unit = reason_unit(v.reason); *unit != '\0') j["unit"] = unit;
    if (const std::string text = phrase(v); !text.empty()) j["text"] = text;
    return j;
}

Ordered host_json_of(const Explanation& e) {
    const HostFacts& f = e.facts;
    Ordered gpus = Ordered::array();
    for (const Coproc& c : f.coprocs)
        gpus.push_back({{"type", c.type}, {"model", c.model}, {"count", c.count}, {"ram", number(c.total_ram)}});
    return {{"id", e.host.id},
            {"user", e.user.id},
            {"os", e.host.os_name + " " + e.host.os_version},
            {"client_version", f.client_version},
            {"platforms", f.platforms},
            {"usable_cpus", f.usable_cpus},
            {"usable_ram", number(f.usable_ram)},
            {"disk_available", number(f.disk_available)},
            {"hr_class_fine", f.hr_class_fine},
            {"hr_class_coarse", f.hr_class_coarse},
            {"jobs_in_progress", f.in_progress.size()},
            {"gpus", std::move(gpus)}};
}

Ordered asked_json(const WorkRequest& w) {
    Ordered asked = Ordered::object();
    if (!w.resource_specific) asked["seconds"] = number(w.total_seconds);
    for (int t = 0; t < kProcTypes; ++t) {
        const auto i = static_cast<std::size_t>(t);
        if (w.seconds[i] <= 0 && w.instances[i] <= 0) continue;
        asked[proc_type_name(static_cast<ProcType>(t))] = {{"seconds", number(w.seconds[i])},
                                                           {"instances", number(w.instances[i])},
                                                           {"estimated_delay", number(w.estimated_delay[i])}};
    }
    return asked;
}

Ordered job_json(const JudgedJob& j, std::uint32_t slots, bool blocked) {
    Ordered out;
    out["slot"] = j.slot < slots ? Ordered(j.slot) : Ordered();
    out["result"] = j.job.result_id;
    out["workunit"] = j.job.workunit_id;
    out["app"] = j.app;
    out["resource"] = proc_type_name(j.resource);
    out["fate"] = j.fate != Reason::kFeasible ? reason_name(j.fate) : blocked ? "blocked" : "sent";
    if (is_refusal(j.fate)) out["refusal"] = verdict_json(j.verdict);
    if (j.app_version_id != 0)
        out["version"] = {{"id", j.app_version_id},
                          {"num", j.version_num},
                          {"plan_class", j.plan_class},
                          {"platform", j.platform},
                          {"projected_flops", number(j.projected_flops)},
                          {"runtime", number(j.runtime)}};
    if (j.host_size_class >= 0)
        out["size"] = {{"job", j.job.size_class}, {"host", j.host_size_class}, {"guess", j.size_is_guess}};
    if (j.batch_place)
        out["batch"] = {{"id", j.job.batch},
                        {"user", j.batch_place->user_id},
                        {"logical_end_time", number(j.batch_place->end)},
                        {"lag", number(j.batch_place->lag)}};
    if (j.plan)
        out["plan"] = {
            {"finish", number(j.plan->finish)}, {"margin", number(j.plan->margin)}, {"hosts", j.plan->hosts}};
    if (!j.terms.empty()) {
        if (j.share_band) out["share_band"] = *j.share_band;
        out["score"] = number(j.score);
        Ordered& terms = out["terms"] = Ordered::object();
        for (const auto& t : j.terms)
            terms[t.name] = {
                {"weight", number(t.weight)}, {"value", number(t.value)}, {"points", number(t.weight * t.value)}};
    }
    return out;
}

Ordered summary_json(const Report& report) {
    const Explanation& e = report.explanation;
    Ordered list = Ordered::array();
    for (const Reason r : binding_order(e.stats)) {
        const ReasonCount& c = e.stats.reasons[static_cast<std::size_t>(r)];
        Ordered j{{"reason", reason_name(r)}, {"count", c.count}, {"advice", advice_of(report, r)}};
        j["nearest"] = verdict_json(c.nearest);
        j["nearest"].erase("reason");
        if (c.nearest_result != 0) j["nearest"]["result"] = c.nearest_result;
        list.push_back(std::move(j));
    }
    return list;
}

}  // namespace

std::string report_json(const Report& report) {
    const Explanation& e = report.explanation;
    Ordered j;
    j["host"] = host_json_of(e);
    j["asked"] = asked_json(e.wanted);
    j["array"] = {
        {"slots", e.slots}, {"jobs", e.in_array}, {"locked", e.locked}, {"slots_seen", e.stats.slots_scanned}};
    j["search"] = search_info(e.search).name;
    j["would_send"] = report.blocked_by.empty() ? jobs_to_send(e) : 0;
    j["blocked_by"] = report.blocked_by;
    if (!report.blocked_by.empty()) j["would_send_but_for_that"] = jobs_to_send(e);
    if (!report.no_jobs.empty()) j["no_jobs"] = report.no_jobs;
    const auto binding = binding_reason(e);
    j["binding"] = binding && jobs_to_send(e) == 0 ? Ordered(reason_name(*binding)) : Ordered();
    j["summary"] = summary_json(report);
    if (report.job)
        j["job"] = {{"result", report.job->job.result.id},
                    {"name", report.job->job.result.name},
                    {"workunit", report.job->job.workunit.id},
                    {"in_array", report.job->slot.has_value()},
                    {"standing", report.job->text}};
    j["jobs"] = Ordered::array();
    for (const JudgedJob& job : e.jobs) j["jobs"].push_back(job_json(job, e.slots, !report.blocked_by.empty()));
    j["other_jobs"] = e.other_jobs;
    j["messages"] = e.messages;
    j["assumed"] = report.assumed;
    j["notes"] = report.notes;
    return j.dump(2, ' ', false, Ordered::error_handler_t::replace) + "\n";
}

}  // namespace sluice
