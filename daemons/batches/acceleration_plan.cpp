// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batches/acceleration_plan.h"

#include <fmt/core.h>

#include <algorithm>

namespace sluice {
namespace {

struct JobCounts {
    int total = 0, waiting = 0, in_progress = 0, success = 0;
    Id first_waiting = 0;
};

JobCounts count(const std::vector<OpenInstance>& instances) {
    JobCounts c;
    for (const OpenInstance& i : instances) {
        ++c.total;
        switch (i.server_state) {
            case ServerState::kInactive:
            case ServerState::kUnsent:
                if (c.waiting++ == 0) c.first_waiting = i.id;
                break;
            case ServerState::kInProgress: ++c.in_progress; break;
            case ServerState::kOver:
                c.success += i.outcome == Outcome::kSuccess && i.validate_state != ValidateState::kInvalid ? 1 : 0;
                break;
        }
    }
    return c;
}

/// Instances that the transitioner will make by itself.
int on_their_way(const OpenJob& job, const JobCounts& c) {
    return job.wu.target_nresults - c.waiting - c.in_progress - c.success;
}

bool is_waiting(const OpenInstance& i) {
    return i.server_state == ServerState::kInactive || i.server_state == ServerState::kUnsent;
}

bool may_mark(std::int64_t priority, const AccelRules& rules) {
    return rules.only_zero ? priority == 0 : priority <= 0;
}

/// A late job is lost on its way: without a copy it waits for its deadline, and the batch with it.
int batch_cap(const BatchFacts& facts, const AccelRules& rules, bool late) {
    int cap = rules.max_extra_per_batch > 0 ? rules.max_extra_per_batch : INT32_MAX;
    if (rules.max_extra_frac > 0 && !late)
        cap = std::min(cap, std::max(kFreeExtra, static_cast<int>(rules.max_extra_frac * facts.progress.njobs)));
    return cap;
}

struct OneMore {
    InstanceWhy why;
    double value = 0, required = 0;
    Id about = 0;
};

/// Seed 004: "if no unsent results, and in-prog results are older than average TT, and #results < max_total_results".
OneMore one_more(const OpenJob& job, const JobCounts& c, const BatchFacts& facts, const AccelRules& rules,
                 std::int64_t now) {
    using W = InstanceWhy;
    if (job.wu.transitioner_flags != TransitionerFlags::kNormal)
        return {W::kTargeted, static_cast<double>(job.wu.transitioner_flags), 0, 0};
    if (c.waiting > 0) return {W::kUnsentWaits, 0, 0, c.first_waiting};
    if (c.total >= job.wu.max_total_results) return {W::kAtLimit, double(c.total), double(job.wu.max_total_results), 0};
    // Without these two, every run would ask for one more until the transitioner or the validator has had its turn.
    if (const int coming = on_their_way(job, c); coming > 0) return {W::kOnItsWay, double(coming), 0, 0};
    if (c.success >= std::max(1, job.wu.min_quorum))
        return {W::kAwaitsValidation, double(c.success), double(job.wu.min_quorum), 0};
    if (c.in_progress > 0 && !facts.turnaround) return {W::kNoTypicalTime};
    for (const OpenInstance& i : job.instances) {
        if (i.server_state != ServerState::kInProgress) continue;
        const auto age = static_cast<double>(now - i.sent_time);
        if (age < *facts.turnaround) return {W::kRecent, age, *facts.turnaround, i.id};
    }
    if (const int cap = batch_cap(facts, rules, is_late(job, facts, rules, now)); facts.extra >= cap)
        return {W::kBatchCap, double(facts.extra), double(cap), 0};
    if (rules.max_extra_total > 0 && facts.extra_total >= rules.max_extra_total)
        return {W::kTotalCap, double(facts.extra_total), double(rules.max_extra_total), 0};
    return {W::kOneMore, double(c.total), double(job.wu.max_total_results), 0};
}

MarkWhy accelerated(const OpenJob& job, const AccelRules& rules) {
    if (may_mark(job.wu.priority, rules)) return MarkWhy::kMarked;
    return job.wu.priority > 0 ? MarkWhy::kHighAlready : MarkWhy::kOwnPriority;
}

MarkWhy given_back(const OpenJob& job, const BatchVerdict& verdict) {
    if (job.before && (job.before->marked || job.before->lent > 0)) return MarkWhy::kGivenBack;
    const bool high =
        job.wu.priority == 1 || std::any_of(job.instances.begin(), job.instances.end(),
                                            [](const auto& i) { return is_waiting(i) && i.priority == 1; });
    return verdict.lower && high ? MarkWhy::kLowered : MarkWhy::kNothingToGiveBack;
}

}  // namespace

AccelRules accel_rules(int compat_level) {
    AccelRules rules;
    if (compat_level <= 0) return rules;
    rules.min_frac_done = 0.9;
    rules.at_least = true;
    rules.max_not_done = 0;
    rules.late_after = 3;
    rules.only_zero = false;
    rules.restore_others = true;
    rules.max_extra_frac = 0.1;
    rules.max_extra_total = 10000;
    return rules;
}

namespace {

/// That part of its jobs is done, `late` ones taken for done.
bool is_enough(const BatchFacts& f, const AccelRules& rules, int late) {
    const double done = static_cast<double>(f.progress.done() + late) / f.progress.njobs;
    return done > rules.min_frac_done || (rules.at_least && done >= rules.min_frac_done) ||
           f.progress.njobs - f.progress.done() < rules.max_not_done;
}

}  // namespace

bool late_jobs_matter(const BatchFacts& f, const AccelRules& rules) {
    return rules.late_after > 0 && f.batch.state == BatchState::kInProgress && f.accelerable && f.progress.njobs > 0 &&
           2 * f.progress.done() >= f.progress.njobs && !is_enough(f, rules, 0);
}

bool is_late(const OpenJob& job, const BatchFacts& f, const AccelRules& rules, std::int64_t now) {
    if (!f.turnaround || rules.late_after <= 0) return false;
    return std::any_of(job.instances.begin(), job.instances.end(), [&](const OpenInstance& i) {
        const bool sent = i.server_state == ServerState::kInProgress || i.server_state == ServerState::kOver;
        return sent && i.sent_time > 0 && static_cast<double>(now - i.sent_time) >= rules.late_after * *f.turnaround;
    });
}

BatchVerdict judge(const BatchFacts& f, const AccelRules& rules) {
    BatchVerdict v;
    if (f.batch.state != BatchState::kInProgress) {
        v.value = static_cast<double>(f.batch.state);
        return v;
    }
    if (f.progress.njobs == 0) {
        v.why = BatchWhy::kNoJobs;
        return v;
    }
    const double done = static_cast<double>(f.progress.done()) / f.progress.njobs;
    const bool enough = is_enough(f, rules, f.late);
    v.late = f.late;
    if (!f.accelerable) {
        v.why = BatchWhy::kNotAccelerable;
        v.restore = f.touched || enough;
        v.lower = enough;
    } else if (enough) {
        v.why = BatchWhy::kAccelerated;
        v.accelerate = true;
    } else {
        v.why = BatchWhy::kNotEnoughDone;
        v.restore = rules.restore_others && f.touched;
    }
    v.value = done;
    v.required = rules.min_frac_done;
    return v;
}

JobDecision decide(const OpenJob& job, const BatchVerdict& verdict, BatchFacts& facts, const AccelRules& rules,
                   std::int64_t now) {
    JobDecision d;
    d.workunit = job.wu.id;
    if (!verdict.accelerate) {
        if (verdict.restore) d.mark = given_back(job, verdict);
        return d;
    }
    d.mark = accelerated(job, rules);
    for (const OpenInstance& i : job.instances)
        if (is_waiting(i) && may_mark(i.priority, rules)) d.mark_results.push_back(i.id);
    const JobCounts c = count(job.instances);
    const OneMore answer = one_more(job, c, facts, rules, now);
    d.instance = answer.why;
    d.value = answer.value;
    d.required = answer.required;
    d.about = answer.about;
    if (d.instance == InstanceWhy::kOneMore) {
        ++facts.extra;
        ++facts.extra_total;
    }
    // At the limit, a target above what exists would make the transitioner give the job up when one copy fails, though
    // another one still runs. So the target goes back to what the submitter wanted.
    d.give_back_target = job.before && job.before->lent > 0 && c.total >= job.wu.max_total_results &&
                         on_their_way(job, c) <= 0 && job.wu.target_nresults > job.before->lent;
    return d;
}

AccelWrite to_write(const std::vector<OpenJob>& jobs, const std::vector<JobDecision>& decisions,
                    const AccelRules& rules) {
    AccelWrite w;
    w.only_zero = rules.only_zero;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        const OpenJob& job = jobs[i];
        const JobDecision& d = decisions[i];
        w.batch = job.wu.batch;
        if (d.mark == MarkWhy::kMarked) w.mark.push_back(d.workunit);
        if (d.mark == MarkWhy::kGivenBack) w.restore.push_back(d.workunit);
        if (d.mark == MarkWhy::kLowered) w.lower.push_back(d.workunit);
        w.mark_results.insert(w.mark_results.end(), d.mark_results.begin(), d.mark_results.end());
        if (d.instance == InstanceWhy::kOneMore) w.more.emplace_back(d.workunit, job.wu.target_nresults);
        if (d.give_back_target) w.give_back.emplace_back(d.workunit, job.before->lent);
    }
    return w;
}

// The sentences behind the reasons of acceleration_plan.h: what the log and --explain say.

namespace {

struct InstanceRow {
    InstanceWhy why;
    const char* name;
};
constexpr InstanceRow kInstances[] = {
    {InstanceWhy::kOneMore, "one_more"},
    {InstanceWhy::kTargeted, "targeted"},
    {InstanceWhy::kUnsentWaits, "unsent_waits"},
    {InstanceWhy::kAtLimit, "at_limit"},
    {InstanceWhy::kOnItsWay, "on_its_way"},
    {InstanceWhy::kAwaitsValidation, "awaits_validation"},
    {InstanceWhy::kNoTypicalTime, "no_typical_time"},
    {InstanceWhy::kRecent, "recent"},
    {InstanceWhy::kBatchCap, "batch_cap"},
    {InstanceWhy::kTotalCap, "total_cap"},
    {InstanceWhy::kNotAccelerated, "not_accelerated"},
};

std::string mark_text(MarkWhy why) {
    switch (why) {
        case MarkWhy::kMarked: return "made high priority";
        case MarkWhy::kHighAlready: return "has high priority already";
        case MarkWhy::kOwnPriority: return "keeps its own priority (below 0; compat_level 1 raises such jobs too)";
        case MarkWhy::kGivenBack: return "gets its old priority and target back";
        case MarkWhy::kLowered: return "had priority 1 from another program: 0 again";
        case MarkWhy::kNothingToGiveBack: return "is not accelerated";
    }
    return "";
}

std::string instance_text(const JobDecision& d) {
    switch (d.instance) {
        case InstanceWhy::kOneMore:
            return fmt::format("one instance more ({:.0f} of {:.0f} so far)", d.value, d.required);
        case InstanceWhy::kTargeted:
            return fmt::format("no new instance: it is meant for certain hosts (transitioner_flags {:.0f})", d.value);
        case InstanceWhy::kUnsentWaits: return fmt::format("no new instance: result {} is not sent yet", d.about);
        case InstanceWhy::kAtLimit:
            return fmt::format("no new instance: it has {:.0f} results, max_total_results is {:.0f}", d.value,
                               d.required);
        case InstanceWhy::kOnItsWay:
            return fmt::format("no new instance: the transitioner is about to make {:.0f}", d.value);
        case InstanceWhy::kAwaitsValidation:
            return fmt::format("no new instance: {:.0f} successful results wait for the validator (quorum {:.0f})",
                               d.value, d.required);
        case InstanceWhy::kNoTypicalTime:
            return "no new instance: the batch has no successful result to tell a long turnaround from a short one";
        case InstanceWhy::kRecent:
            return fmt::format("no new instance: result {} was sent {:.0f} s ago, less than the batch's {:.0f} s",
                               d.about, d.value, d.required);
        case InstanceWhy::kBatchCap:
            return fmt::format("no new instance: the batch had {:.0f} extra ones, its cap is {:.0f}", d.value,
                               d.required);
        case InstanceWhy::kTotalCap:
            return fmt::format("no new instance: {:.0f} extra ones in all, the cap is {:.0f}", d.value, d.required);
        case InstanceWhy::kNotAccelerated: return "no new instance";
    }
    return "";
}

}  // namespace

const char* name_of(InstanceWhy why) {
    for (const InstanceRow& row : kInstances)
        if (row.why == why) return row.name;
    return "?";
}

std::string text_of(const BatchVerdict& v) {
    const std::string late = v.late > 0 ? fmt::format(", {} jobs are late and count as done", v.late) : "";
    switch (v.why) {
        case BatchWhy::kNotInProgress:
            return fmt::format("not accelerated: its state is {:.0f}, not IN_PROGRESS", v.value);
        case BatchWhy::kNoJobs: return "not accelerated: it has no jobs";
        case BatchWhy::kNotEnoughDone:
            return fmt::format("not accelerated: {:.1f} % done{}, {:.1f} % are needed{}", 100 * v.value, late,
                               100 * v.required,
                               v.restore ? "; jobs that were accelerated get their priorities back" : "");
        case BatchWhy::kNotAccelerable:
            return fmt::format("not accelerated: its app is not accelerable ({:.1f} % done){}", 100 * v.value,
                               v.restore ? "; jobs get their priorities back" : "");
        case BatchWhy::kAccelerated: return fmt::format("accelerated: {:.1f} % done{}", 100 * v.value, late);
    }
    return "";
}

std::string text_of(const JobDecision& d) {
    std::string text = mark_text(d.mark);
    if (!d.mark_results.empty()) text += fmt::format(", {} unsent results too", d.mark_results.size());
    if (d.instance != InstanceWhy::kNotAccelerated) text += "; " + instance_text(d);
    if (d.give_back_target) text += "; target_nresults goes back to what it was";
    return text;
}

}  // namespace sluice
