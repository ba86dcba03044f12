// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Counts what happens in a simulation and makes its FleetResult of it.
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "sched/sim/fleet_result.h"
#include "sched/sim/input_files.h"
#include "sched/sim/project.h"

namespace sluice::sim {

// What users would get in a day if work could be divided without limit: processors and GPUs together, by quota
// (max-min), as far as a user has work for them. Who has work for one kind of devices only gets no more than there is
// of it. Pure.

/// Of processors and of GPUs.
using PerDevice = std::array<double, 2>;

/// `quotas`: 0 or more. `work`: that each user has for the one and the other; infinite: always some. `there`: what both
/// do. The answer is by user; it is all of `there` unless there is too little work.
std::vector<PerDevice> fluid_of(const std::vector<double>& quotas, const std::vector<PerDevice>& work,
                                const PerDevice& there);

/// Jobs of one size from one line of work; Workunit::opaque holds its number.
struct JobClass {
    std::size_t work = 0;  ///< of Scenario::work
    double hours = 1;      ///< at speed 1
    std::string name;
};
std::vector<JobClass> job_classes(const Scenario& scenario);

/// A batch of the simulation, as its lower bounds need it.
struct BatchRecord {
    Id id = 0;
    double arrived = 0;  ///< clock
    int jobs = 0, open = 0;
    double ended = 0;  ///< clock; 0: not yet
    double mean_flops = 0;
    std::size_t work = 0;  ///< of Scenario::work
    double last_sent = 0;  ///< clock: when its last job was sent for the first time
    bool gpu = false;      ///< its jobs run on GPUs
    bool threads = false;  ///< they use all processors
};

class Recorder final : public JobWatcher {
  public:
    Recorder(const Scenario& scenario, const std::vector<JobClass>& classes, double start);

    void set_host_speeds(std::vector<double> speeds);
    void submitted(const Workunit& wu, double now);
    void batch_came(const BatchRecord& batch) { batches_.push_back(batch); }
    void asked(bool for_work, bool got_none, double now);
    /// For the first time; a lost reply's jobs are sent again. It will run for so many seconds, if it ends well.
    void sent(const Result& result, const Workunit& wu, double speed, double seconds, double now);
    /// At the simulation's end.
    void never_sent(const Result& result, const Workunit& wu);
    void reported(const Workunit& wu, double now);
    void lost(double core_seconds, double now);
    void needed(const Download& download, double now);
    void decided(const Workunit& wu) override;
    void over(const FinishedJob& job) override;
    void expected(Id batch, double time, const EtaFactors& factors) override {
        expected_.push_back({batch, now_, time, eta_band(now_, time, factors)});
    }
    void set_now(double now) { now_ = now; }
    /// Lines "name,class,created,decided,instances,state" of every job that is over; empty: not wanted.
    std::string* job_lines = nullptr;

    bool has_open_batches() const {
        return std::any_of(batches_.begin(), batches_.end(), [](const BatchRecord& b) { return b.open > 0; });
    }
    /// Batches that are measured and over, in order of submission.
    std::vector<BatchRecord> measured_batches() const;
    FleetResult result(std::uint64_t seed, double now) const;

  private:
    std::size_t day(double now) const;
    template <typename T>
    static T& at(std::vector<T>& days, std::size_t day) {
        if (days.size() <= day) days.resize(day + 1);
        return days[day];
    }
    bool measured(double created) const { return created >= measured_from_; }
    const JobClass& class_of(const Workunit& wu) const { return classes_[static_cast<std::size_t>(wu.opaque)]; }
    bool is_in_band(double hours) const;
    double real_work(const Workunit& wu) const;  ///< flops, the mean of its kind, whatever was estimated
    void note_gap(std::size_t work, double now);
    std::size_t device_of(const WorkSpec& work) const;
    bool is_endless(std::size_t user, std::size_t device, std::size_t day) const;
    void fill_shares(FleetResult& r) const;
    void fill_share_error(FleetResult& r, const std::vector<std::vector<double>>& got,
                          const std::vector<std::vector<double>>& ideal) const;
    void fill_users(FleetResult& r) const;
    void fill_more(FleetResult& r, double now) const;
    void fill_expectations(FleetResult& r) const;
    void fill_days(FleetResult& r, double now) const;

    const Scenario& scenario_;
    const std::vector<JobClass>& classes_;
    double start_, measured_from_, now_ = 0;
    std::map<std::string, std::size_t> user_;
    std::vector<double> speed_quarters_;
    std::vector<BatchRecord> batches_;
    std::map<Id, std::size_t> batch_index_;
    std::map<Id, double> decided_at_;  ///< of jobs with instances that are not over yet
    std::int64_t submitted_ = 0, done_ = 0, done_in_time_ = 0, errors_ = 0, missed_ = 0, sent_ = 0, finished_ = 0;
    std::int64_t requests_ = 0, work_requests_ = 0, empty_ = 0, valid_ = 0, in_band_ = 0;
    std::int64_t mixed_ = 0;  ///< valid results of another version than the one that the job was committed to
    std::int64_t first_sent_ = 0, sent_in_band_ = 0;
    struct StartedJob {
        double at = 0;  ///< clock: the first instance was sent
        double delay_bound = 0;
    };
    std::map<Id, StartedJob> started_jobs_;      ///< jobs with a quorum that are not decided
    std::vector<double> quorum_hours_;           ///< of those that were, from then on
    std::vector<double> oldest_unsent_;          ///< by class, hours
    std::vector<std::int64_t> done_in_time_of_;  ///< by class
    struct Expectation {
        Id batch = 0;
        double said = 0, end = 0;  ///< clock
        EtaBand band;
    };
    std::vector<Expectation> expected_;
    Download downloads_;  ///< of all jobs that came to hosts
    double wasted_ = 0, useful_ = 0;
    double work_in_time_ = 0;  ///< flops reported between the warm-up's end and the day after which no work comes
    std::vector<std::int64_t> done_by_day_, missed_by_day_, empty_by_day_;
    std::vector<double> wasted_by_day_;
    std::vector<double> last_sent_, longest_gap_;  ///< by work, s: of streams of which jobs always wait
    std::vector<std::vector<double>> waits_;       ///< by class, hours
    std::vector<std::vector<std::int64_t>> host_by_job_;
    std::vector<std::vector<PerDevice>> work_by_day_, new_by_day_;  ///< by user, then day: flops
};

}  // namespace sluice::sim
