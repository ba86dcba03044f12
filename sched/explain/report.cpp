// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/explain/report.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>

#include "sluice/base/text.h"
#include "sluice/match/policies.h"
#include "sluice/match/reasons.h"

namespace sluice {
namespace {

int rank(const JudgedJob& j) { return j.fate == Reason::kFeasible ? 0 : j.fate == Reason::kNotNeeded ? 1 : 2; }

/// Did `a` get further than `b` with the same job?
bool further(const JudgedJob& a, const JudgedJob& b) {
    if (rank(a) != rank(b)) return rank(a) < rank(b);
    if (a.fate == b.fate) return false;
    MatchStats both;
    for (const JudgedJob* j : {&a, &b}) both.reasons[static_cast<std::size_t>(j->fate)].count = 1;
    return binding_order(both).front() == a.fate;
}

}  // namespace

std::vector<JudgedJob> one_line_a_job(const std::vector<JudgedJob>& jobs) {
    std::map<std::uint32_t, std::size_t> by_slot;
    std::vector<JudgedJob> lines;
    for (const JudgedJob& j : jobs) {
        const auto [it, is_new] = by_slot.emplace(j.slot, lines.size());
        if (is_new)
            lines.push_back(j);
        else if (further(j, lines[it->second]))
            lines[it->second] = j;
    }
    std::stable_sort(lines.begin(), lines.end(), [](const JudgedJob& a, const JudgedJob& b) {
        if (rank(a) != rank(b)) return rank(a) < rank(b);
        if (rank(a) < 2 && a.share_band != b.share_band) return a.share_band < b.share_band;
        if (rank(a) < 2 && a.score != b.score) return a.score > b.score;
        return a.slot < b.slot;
    });
    return lines;
}

std::string advice_of(const Report& report, Reason reason) {
    const auto exact = report.advice.find(reason);
    return exact != report.advice.end() ? exact->second : reason_advice(reason);
}

std::optional<Reason> binding_reason(const Explanation& e) {
    const std::vector<Reason> order = binding_order(e.stats);
    if (order.empty() || !is_refusal(order.front())) return std::nullopt;
    return order.front();
}

int jobs_to_send(const Explanation& e) {
    // Instances that are made for this host are among the other jobs.
    const auto sent = std::count_if(e.jobs.begin(), e.jobs.end(), [](const JudgedJob& j) {
        return j.fate == Reason::kFeasible && j.job.result_id != 0;
    });
    return static_cast<int>(sent + static_cast<std::ptrdiff_t>(e.other_jobs.size()));
}

namespace {

std::string host_lines(const Explanation& e) {
    const HostFacts& f = e.facts;
    std::string platforms;
    for (const std::string& p : f.platforms) platforms += " " + in_one_line(p);
    std::string text = fmt::format(
        "HOST#{} of USER#{} {}: {} {}, {} CPUs ({} may be used), memory {} ({} may be used), {} of disk may be used\n"
        "platforms:{}\n",
        e.host.id, e.user.id, in_one_line(e.user.name), in_one_line(e.host.os_name), in_one_line(e.host.os_version),
        e.host.p_ncpus, f.usable_cpus, bytes_text(e.host.m_nbytes), bytes_text(f.usable_ram),
        bytes_text(f.disk_available), platforms.empty() ? " none" : platforms);
    for (const Coproc& c : f.coprocs)
        text += fmt::format("GPU: {} {} x {} ({})\n", c.count, in_one_line(c.type), in_one_line(c.model),
                            bytes_text(c.total_ram));
    return text;
}

std::string asked_text(const WorkRequest& w) {
    std::string text = "asks for:";
    if (!w.resource_specific) return fmt::format("asks for: {} of any work\n", duration_text(w.total_seconds));
    for (int t = 0; t < kProcTypes; ++t) {
        const auto i = static_cast<std::size_t>(t);
        if (w.seconds[i] > 0 || w.instances[i] > 0)
            text += fmt::format(" {}: {}, {:g} idle, free in {};", proc_type_name(static_cast<ProcType>(t)),
                                duration_text(w.seconds[i]), w.instances[i], duration_text(w.estimated_delay[i]));
    }
    if (text.back() == ';') text.pop_back();
    return text == "asks for:" ? "asks for no work\n" : text + "\n";
}

std::string score_text(const JudgedJob& j) {
    std::string text = j.share_band ? fmt::format("share band {}, ", *j.share_band) : "";
    text += fmt::format("score {:.2f}", j.score);
    const char* sign = " =";
    for (const auto& t : j.terms) {
        if (t.value == 0) continue;
        text += fmt::format("{} {} {:g} x {:.3g}", sign, t.name, t.weight, t.value);
        sign = " +";
    }
    return text;
}

std::string version_text(const JudgedJob& j) {
    if (j.app_version_id == 0) return "";
    std::string text = fmt::format(", version {}{} on {}, est. {}", j.version_num,
                                   j.plan_class.empty() ? "" : " [" + in_one_line(j.plan_class) + "]",
                                   in_one_line(j.platform), duration_text(j.runtime));
    if (j.host_size_class >= 0)
        text += fmt::format(", size class {} for a host of class {}{}", j.job.size_class, j.host_size_class,
                            j.size_is_guess ? " (a guess: no history)" : "");
    return text;
}

/// Logical times have no end: what no calendar has stays a number.
std::string logical_time_text(double time) {
    if (!(time > 0) || time > 253402300799.0) return fmt::format("{:.0f}", time);  // the year 9999
    return fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(static_cast<std::time_t>(time)));
}

std::string batch_text(const JudgedJob& j) {
    if (!j.batch_place) return "";
    const BatchPlace& p = *j.batch_place;
    std::string text = j.job.batch == kWithoutBatch ? fmt::format(", without a batch, so of USER#{}", p.user_id)
                                                    : fmt::format(", batch {} of USER#{}", j.job.batch, p.user_id);
    if (std::isinf(p.end)) return text + ", who has no quota: after all others";
    text += ", LET " + logical_time_text(p.end);
    return text + (p.lag > 0 ? fmt::format(", {} behind the least", duration_text(p.lag)) : ", the least");
}

std::string plan_text(const JudgedJob& j) {
    if (!j.plan) return "";
    return fmt::format(" (batch {}: T {}, {} hosts in H)", j.plan->batch, logical_time_text(j.plan->finish),
                       j.plan->hosts);
}

std::string job_line(const JudgedJob& j, std::uint32_t slots, bool blocked) {
    const std::string where = j.slot < slots ? fmt::format("slot {:5}", j.slot) : "not in array";
    std::string text = fmt::format("{} RESULT#{} WU#{} {} {}{}: ", where, j.job.result_id, j.job.workunit_id,
                                   j.app.empty() ? "?" : j.app, proc_type_name(j.resource), plan_text(j));
    if (j.fate == Reason::kFeasible)
        return text + (blocked ? "would be sent but for what is named below, " : "WOULD BE SENT, ") + score_text(j) +
               version_text(j) + batch_text(j) + "\n";
    if (j.fate == Reason::kNotNeeded)
        return text + "not needed, " + score_text(j) + version_text(j) + batch_text(j) + "\n";
    text += reason_name(j.fate);
    if (const std::string p = phrase(j.verdict); !p.empty()) text += ": " + p;
    if (!j.terms.empty()) text += "; " + score_text(j);
    return text + batch_text(j) + "\n";
}

std::string reason_lines(const Report& report, Reason r) {
    const ReasonCount& c = report.explanation.stats.reasons[static_cast<std::size_t>(r)];
    std::string text = fmt::format("  {}: {} {}", reason_name(r), c.count, c.count == 1 ? "time" : "times");
    std::string nearest = phrase(c.nearest);
    if (c.nearest_result != 0)
        nearest = fmt::format("RESULT#{}{}{}", c.nearest_result, nearest.empty() ? "" : " ", nearest);
    if (!nearest.empty()) text += "; nearest: " + nearest;
    return text + fmt::format("\n      {}\n", advice_of(report, r));
}

std::string headline(const Report& report) {
    const Explanation& e = report.explanation;
    const int n = jobs_to_send(e);
    if (!report.blocked_by.empty()) {
        std::string text = fmt::format("No job would be sent: {}\n", report.blocked_by.front());
        for (std::size_t i = 1; i < report.blocked_by.size(); ++i) text += "  also: " + report.blocked_by[i] + "\n";
        return n > 0 ? text + fmt::format("But for that, {} {} would be sent.\n", n, n == 1 ? "job" : "jobs") : text;
    }
    if (n > 0) return fmt::format("{} {} would be sent.\n", n, n == 1 ? "job" : "jobs");
    if (e.search == Search::kArrayEmpty && !report.no_jobs.empty())
        return fmt::format("No job would be sent: {}: {}\n", search_info(e.search).name, report.no_jobs);
    if (e.search != Search::kDone)
        return fmt::format("No job would be sent: {}. {}\n", search_info(e.search).name, search_info(e.search).advice);
    if (const auto r = binding_reason(e)) {
        const ReasonCount& c = e.stats.reasons[static_cast<std::size_t>(*r)];
        const std::string p = phrase(c.nearest);
        return fmt::format("No job would be sent. The binding constraint: {}{}{}\n", reason_name(*r),
                           p.empty() ? "" : ": nearest miss ", p);
    }
    if (!report.app.empty())
        return fmt::format("No job would be sent: the array holds no job of app {}.\n", report.app);
    return e.locked > 0 ? "No job would be sent: schedulers hold all jobs of the array at the moment.\n"
                        : "No job would be sent.\n";
}

}  // namespace

std::string report_text(const Report& report) {
    const Explanation& e = report.explanation;
    // Who was turned away before the host was read is nobody's host: what is known of it is nothing.
    std::string text = e.user.id != 0 ? host_lines(e) + asked_text(e.wanted) : "";
    for (const std::string& line : report.assumed) text += "assumed: " + line + "\n";
    for (const std::string& line : report.notes) text += "note: " + line + "\n";
    text += fmt::format("array: {} slots, {} jobs, {} held by schedulers\n\n", e.slots, e.in_array, e.locked);
    if (report.job)
        text += fmt::format("RESULT#{} {}: {}\n", report.job->job.result.id, in_one_line(report.job->job.result.name),
                            report.job->text);
    const auto lines = one_line_a_job(e.jobs);
    for (const JudgedJob& j : lines) text += job_line(j, e.slots, !report.blocked_by.empty());
    if (!lines.empty()) text += "\n";
    text += headline(report);
    for (const std::string& line : e.other_jobs) text += "  " + line + "\n";
    for (const Reason r : binding_order(e.stats)) text += reason_lines(report, r);
    if (!e.messages.empty()) text += "The volunteer reads:\n";
    for (const std::string& m : e.messages) text += "  " + in_one_line(m, 1000) + "\n";
    return text;
}

}  // namespace sluice
