// SPDX-License-Identifier: LGPL-3.0-or-later
// The sentences behind the reasons of plan.h: what the log and --explain say.
#include <fmt/core.h>

#include "daemons/batch_accel/plan.h"

namespace sluice {
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
