// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// An explanation as text for people, or as one JSON document.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sched/explain/dry_run.h"
#include "sched/explain/job_standing.h"

namespace sluice {

struct Report {
    Explanation explanation;
    std::vector<std::string> assumed;      ///< about the host, because nothing is stored of it
    std::vector<std::string> notes;        ///< what a real request would meet besides
    std::vector<std::string> blocked_by;   ///< why nobody gets any job at the moment, whatever is said of this host
    std::map<Reason, std::string> advice;  ///< more exact than reason_advice(), where the configuration tells it
    std::string no_jobs;                   ///< why the array holds nothing; empty: it holds jobs, or nobody knows
    std::optional<JobStanding> job;        ///< --job
    std::string app;                       ///< --app
};

/// What an admin can do.
std::string advice_of(const Report& report, Reason reason);
std::string report_text(const Report& report);
std::string report_json(const Report& report);

/// One judgement per job, for its resource that got furthest. First what would be sent, then what is not needed, by
/// share band and falling score; then refusals by slot.
std::vector<JudgedJob> one_line_a_job(const std::vector<JudgedJob>& jobs);
/// What kept the host from getting (more) jobs; nullopt: nothing refused.
std::optional<Reason> binding_reason(const Explanation& e);
int jobs_to_send(const Explanation& e);

}  // namespace sluice
