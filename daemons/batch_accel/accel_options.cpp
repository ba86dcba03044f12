// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batch_accel/accel_options.h"

namespace sluice {

void AccelOptions::define(CommandLine& line) {
    line.option(
        "--batch_accel_min_frac_done,--min_frac_done", min_frac_done,
        "part of its jobs that must be done, successfully or not; default more than 0.85, at level 1: at least 0.9");
    line.option("--batch_accel_max_not_done,--max_not_done", max_not_done,
                "a batch with fewer open jobs than this is accelerated too; default 20, at level 1: 0 (no such rule)");
    line.option(
        "--late_after", late_after,
        "of a batch with half of its jobs done, those first sent so many times its typical turnaround ago count as "
        "done, too; 0: never; default 0, at level 1: 3");
    line.option(
        "--max_extra_frac", max_extra_frac,
        "extra instances of a batch: at most this part of its jobs, but 20 in any case, and then of late jobs (--late_after) only; 0: no cap; default 0, at level 1: 0.1");
    line.option("--max_extra_per_batch", max_extra_per_batch, "extra instances of a batch; 0 (default): no cap");
    line.option("--max_extra_total", max_extra_total,
                "extra instances of all batches in progress; 0: no cap; default 0, at level 1: 10000");
    line.id_option("--explain", explain, "print every decision on this batch with its reason, write nothing");
    line.option("--stats_age", stats_age, "seconds for which batch_stats' results are used; default 3000");
    line.flag("--no_stats", no_stats, "use the flags as they are, don't run batch_stats' computation");
    line.section("EXIT STATUS", "0, or 1 if the database could not be reached, or another batch_accel is running.");
    line.section("EXAMPLES",
                 "As a task of config.xml:\n<task><cmd>batch_accel</cmd><period>1 hour</period></task>\n\n"
                 "Why is batch 17 not done yet?\nbatch_accel --explain 17");
}

std::string AccelOptions::check() const {
    if (min_frac_done.value_or(0) > 1) return "--min_frac_done is a part of 1";
    for (const double number :
         {min_frac_done.value_or(0), max_extra_frac.value_or(0), late_after.value_or(0), stats_age})
        if (number < 0) return "thresholds and seconds can't be negative";
    for (const auto& number : {max_not_done, max_extra_per_batch, max_extra_total})
        if (number.value_or(0) < 0) return "thresholds can't be negative";
    return "";
}

AccelRules AccelOptions::rules(int compat_level) const {
    AccelRules r = accel_rules(compat_level);
    r.min_frac_done = min_frac_done.value_or(r.min_frac_done);
    r.max_not_done = max_not_done.value_or(r.max_not_done);
    r.late_after = late_after.value_or(r.late_after);
    r.max_extra_frac = max_extra_frac.value_or(r.max_extra_frac);
    r.max_extra_per_batch = max_extra_per_batch.value_or(r.max_extra_per_batch);
    r.max_extra_total = max_extra_total.value_or(r.max_extra_total);
    return r;
}

}  // namespace sluice
