// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// One simulated host: a machine with its sessions, and on it a client that computes, asks and reports as
// client_policy says.
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "sched/rpc/reply.h"
#include "sched/rpc/request.h"
#include "sched/sim/input_files.h"
#include "sched/sim/population.h"
#include "sched/sim/simulated_gangs.h"
#include "sluice/client_policy/contact.h"
#include "sluice/client_policy/policy.h"

namespace sluice::sim {

struct ClientJob {
    std::string name;
    Id workunit = 0;
    double deadline = 0;  ///< by the client's clock
    double estimate = 0;  ///< s of run time that the client expects
    double real = 0;      ///< s of run time until it ends, well or not
    double done = 0;      ///< s of run time up to now
    bool gpu = false;
    double cpus = 1;           ///< that it uses, where it does not use a GPU
    std::string plan_class;    ///< of its version
    bool immediately = false;  ///< to be reported as soon as it is over
    bool fails = false, wrong = false;
    bool running = false, over = false;
    bool abandoned = false;  ///< over without having run
    bool cancelled = false;  ///< over since the project wanted it no more
    double report_by = 0;    ///< over: the latest time of its report
    /// Of a member of a gang. `real` says nothing then: it ends when all do.
    std::optional<SimulatedGangs::Process> gang{};
    double not_before = 0;  ///< it has left the processor to others until then
};

struct JobOutcome {
    bool abandoned = false, fails = false, wrong = false, cancelled = false;
};
/// What a client reports of a job that is over; `run_time` in s.
ReportedResult report_of(const std::string& name, double run_time, const JobOutcome& end);

inline constexpr double kGpuSpeed = 10;  ///< times that of a core
/// The clock of every run begins here: UNIX time, as databases like it.
inline constexpr double kStart = 1700000000;

/// What a client meets outside of its machine.
class ClientWorld {
  public:
    virtual ~ClientWorld() = default;
    /// `speed`: of the host. nullopt: no reply arrived.
    virtual std::optional<SchedulerReply> rpc(double speed, const SchedulerRequest& request) = 0;
    /// flops that the job really takes.
    virtual double real_flops(Id workunit) = 0;
    /// Core-seconds that no report will ever tell of.
    virtual void lost_work(double core_seconds) = 0;
    /// A job has come with its sticky input files.
    virtual void needed(const Download&) {}
    /// Where members of gangs meet; null: nowhere.
    virtual SimulatedGangs* gangs() { return nullptr; }
};

class Client {
  public:
    Client(const HostSpec& spec, std::uint64_t seed, double now, std::string account_key);

    /// Everything that is due at `now`. Returns when to call again.
    double wake(double now, ClientWorld& world);
    /// The machine is gone for good.
    void vanish(double now, ClientWorld& world);

    const HostSpec& spec() const { return spec_; }
    double joined() const { return joined_; }
    double dies_at() const { return dies_at_; }
    Id hostid() const { return hostid_; }
    const std::vector<float>& contacts() const { return contacts_; }
    void fail_from_now_on() { spec_.error_rate = 1; }
    std::size_t jobs() const { return jobs_.size(); }

  private:
    void compute(double now);
    void end_jobs(double now, ClientWorld& world);
    void hear_of_gangs(double now, SimulatedGangs& gangs);
    void tell_gangs(double now, SimulatedGangs& gangs) const;
    /// The queue as its client sees it, and what becomes of it.
    struct View {
        client::State state;
        client::RoundRobin forecast;
    };
    View view(double now) const;
    client::State state(double now) const;
    client::Job as_the_client_sees_it(const ClientJob& job) const;
    void talk(double now, ClientWorld& world, const View& view);
    client::FetchRequest first_request() const;
    void describe(Host& host) const;
    void list_jobs(SchedulerRequest& request) const;
    SchedulerRequest request(double now, const View& view, const std::optional<client::FetchRequest>& wanted) const;
    void take(const SchedulerReply& reply, const std::optional<client::FetchRequest>& wanted, double now,
              ClientWorld& world);
    void accept(const ReplyJob& job, double now, ClientWorld& world);
    void choose(double now, const View& view);
    double next_time(double now) const;
    double rate() const { return 1 - spec_.other_share; }
    bool full() const;

    HostSpec spec_;
    Sessions sessions_;
    SmallRng rng_;
    std::string account_key_;
    double joined_, dies_at_, last_, next_toggle_, on_since_ = 0;
    Id hostid_ = 0;
    std::int64_t seqno_ = 0;
    std::vector<ClientJob> jobs_;  ///< in the order of their arrival; over ones until they are reported
    FilesOnHost files_;
    std::vector<client::Backoff> backoff_;
    bool changed_ = true;  ///< the queue is not the one that `running` and `next_fetch_` were made from
    double next_rpc_ = 0;  ///< not before
    double come_at_ = std::numeric_limits<double>::infinity();  ///< the server wants a request then (next_rpc_delay)
    SimulatedGangs* gangs_ = nullptr;                           ///< where jobs of this host are members
    double next_fetch_ = 0;
    std::vector<float> contacts_;  ///< hours since the simulation's start
};

}  // namespace sluice::sim
