// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Hosts whose requests were recorded. They ask when the recorded hosts did, and for the same. They compute the jobs
// that they get here in the order of arrival, and report them with the next request.
#include <cstdint>
#include <string>
#include <vector>

#include "sched/sim/client.h"
#include "sched/sim/recording.h"
#include "sluice/model/host.h"

namespace sluice::sim {

class ReplayedHosts {
  public:
    /// `keys`: each host's account. `recording` outlives it.
    ReplayedHosts(const Recording& recording, const Fleet& fleet, std::uint64_t seed, std::vector<std::string> keys);

    /// The request of that number is made. Of `fleet` only the rates of errors, wrong outputs and jobs count.
    void ask(std::size_t number, double now, ClientWorld& world);

    /// Of each host, by its first request.
    std::vector<double> speeds() const;

  private:
    struct Job {
        std::string name, plan_class;
        Id workunit = 0;
        double deadline = 0;        ///< by the server's clock
        double run_time = 0;        ///< s
        double start = 0, end = 0;  ///< as scheduled, s of wall-clock time
        bool gpu = false, fails = false, wrong = false, given_up = false, cancelled = false;
        bool over(double now) const { return given_up || cancelled || (end > 0 && end <= now); }
    };
    struct Host {
        std::string key;
        SmallRng rng;
        Id id = 0;
        std::int64_t seqno = 0;
        double speed = 1, rate = 1;  ///< rate: s of run time in a second
        std::size_t cores = 1, gpus = 0;
        std::vector<Job> jobs{};  ///< in the order of their arrival, until they are reported
    };

    void describe(Host& host, const SchedulerRequest& said) const;
    /// When the jobs that have not begun will run.
    void schedule(Host& host, double now) const;
    void list_jobs(const Host& host, double now, SchedulerRequest& request) const;
    void take(Host& host, const SchedulerReply& reply, double now, ClientWorld& world) const;

    const Recording& recording_;
    const Fleet& fleet_;
    std::vector<Host> hosts_;
};

}  // namespace sluice::sim
