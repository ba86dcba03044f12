// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What a simulation of the fleet gives: every figure of result.json, and of report.html, which is made of it. Plain
// values. Days are numbered from 0; day d is [d, d + 1) * 86400 s after the simulation's start. "Warm-up" are the days
// before `measured_from_day`: they count in the series by day, not in the totals.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sluice::sim {

/// Median, 95th percentile (smallest value that at least 95 % do not exceed) and maximum; all 0 if `n` is 0.
struct Distribution {
    double p50 = 0, p95 = 0, max = 0;
    std::size_t n = 0;
};
Distribution spread_of(std::vector<double> values);

/// What part of all work a user got on a day, and what it should have been.
struct ShareOnDay {
    int day = 0;
    std::string user;
    /// Of the work (flops, the mean of their kind) of all instances that were reported on that day, 0 to 1.
    double share = 0;
    double ideal = 0;  ///< of a fluid that is divided by quota among those who have unfinished work for the devices
                       ///< that there are (fluid.h), 0 to 1. What is done when nobody has any (second instances) is the
                       ///< ideal of who got it
};

/// What no scheduler can be better than, for the batches of makespans_hours, in the same order.
struct Bounds {
    /// Idle fleet, its future known: each host takes jobs of this batch only, from its arrival on, in the hours in
    /// which it will compute.
    std::vector<double> idle_fleet_hours;
    /// The same, but a host starts at the first contact that it really made after the batch's arrival.
    std::vector<double> real_contacts_hours;
};

struct FleetResult {
    std::string scenario;  ///< name or file
    std::uint64_t seed = 0;
    double simulated_seconds = 0;
    int measured_from_day = 0;
    int hosts = 0;  ///< at the start

    // Jobs (workunits) that were submitted after the warm-up.
    std::int64_t jobs_submitted = 0;
    std::int64_t jobs_done = 0;    ///< a canonical result was found
    std::int64_t jobs_missed = 0;  ///< instances whose deadline passed at the server before they came back
    std::int64_t jobs_errors = 0;  ///< given up: too many errors, instances, or no agreement

    double instances_per_job = 0;    ///< instances sent / jobs, over finished jobs (done or given up)
    double wasted_core_hours = 0;    ///< computed by instances that did not become, or agree with, a canonical result
    double useful_core_hours = 0;    ///< by those that did
    double throughput_per_day = 0;   ///< jobs done a day, from the warm-up's end until no work comes any more
    std::int64_t requests = 0;       ///< scheduler RPCs
    std::int64_t work_requests = 0;  ///< of them, those that asked for work
    std::int64_t empty_replies = 0;  ///< of these, answered without a job
    Distribution makespan_hours;     ///< batches: from submission until every job is done or given up; finished ones
    int batches_open = 0;            ///< measured batches that were not finished when the simulation ended
    double in_band = 0;  ///< part of the valid results whose elapsed time is within a quarter and four times the
                         ///< target of the scenario (2 to 32 h of 8 h), 0 to 1
    double share_error =
        0;  ///< largest |share - ideal| of any user over any 30 days (or all) in which work comes, 0 to 1

    // Details.
    std::vector<double> makespans_hours;                      ///< of each measured batch, in order of submission
    std::vector<std::int64_t> throughput_by_day;              ///< jobs done
    std::map<std::string, Distribution> waits_by_size_class;  ///< class ("none": without) -> hours unsent until sent
    std::vector<std::string> host_classes, job_classes;       ///< names of rows and columns of the next
    std::vector<std::vector<std::int64_t>> host_class_by_job_class;  ///< instances sent: [host class][job class]
    std::vector<ShareOnDay> shares_over_time;                        ///< by day, then user
    std::vector<std::int64_t> deadline_misses_by_day;
    std::vector<double> wasted_by_day;       ///< core-hours
    std::vector<std::int64_t> empty_by_day;  ///< requests for work answered without a job
    double statements_per_request =
        0;  ///< verbs of the stores that a scheduler RPC calls, the nearest to SQL statements
    Bounds bounds;
    /// Further figures by name, units in the name: in_band_sent, part of the instances sent that run within the band of
    /// in_band if they end well (in_band leaves out what has not ended yet); oldest_unsent_hours CLASS, when the
    /// simulation ended; where there are quorums, quorum_hours_p50, _p95, _max from the first instance that was sent
    /// until a job was decided, quorum_open, jobs that were not, and stranded, those of them that began two delay
    /// bounds ago. For each line of work, "FIGURE, work[I], USER": longest_gap_hours between two jobs sent of a stream
    /// that keeps jobs waiting; sent_in_R_p50, _max, from a batch's submission until its last job is sent for the first
    /// time, and done_in_R_p50, _max, until all are over, by its run time on the whole project at the simulation's mean
    /// speed; makespan_hours_p50, _max. "share, USER", where there are several: of all work of the measured days. Where
    /// jobs have sticky files, downloaded_mb_per_job, of jobs that came to hosts, and file_hits, part of the files that
    /// they needed and the hosts had. Where there are batches, times_contact_bound_p50: makespan by
    /// bounds.real_contacts_hours. Where batch_planner runs, eta_in_band, part of what it told that came true within
    /// the band of sluice_batch, and eta_ratio_p10, _p50, _p90, time that a batch still took by what it was said to
    /// take. throughput_per_day CLASS: jobs done.
    std::map<std::string, double> more;
};

/// result.json: one object, fields in a fixed order, numbers that read back as they were; the same result gives the
/// same bytes. Ends with a newline.
std::string to_json(const FleetResult& result);

// report.html: what a simulation gave, on one page without scripts that loads nothing.

std::string report_html(const FleetResult& result);

}  // namespace sluice::sim
