// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/sim/fleet.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <queue>
#include <string>

#include "db/memory/batch_plan_store.h"
#include "db/memory/gang_store.h"
#include "db/memory/id_set.h"
#include "db/memory/memory_db.h"
#include "sched/sim/bounds.h"
#include "sched/sim/client.h"
#include "sched/sim/fleet_result.h"
#include "sched/sim/project.h"
#include "sched/sim/recorder.h"
#include "sched/sim/replayed_hosts.h"
#include "sched/sim/scenario.h"
#include "sched/sim/simulated_gangs.h"
#include "sluice/base/clock.h"
#include "sluice/base/error.h"
#include "sluice/model/gang.h"

namespace sluice::sim {
namespace {

// The rows of batches and jobs, as programs that submit work write them.

inline constexpr double kBaseFlops = 1e9;  ///< of a core of speed 1

/// With the next id. `jobs` 0: of a stream, whose jobs belong to their user through it.
Batch batch_row(const Scenario& scenario, const WorkSpec& work, const MemoryDb& db, std::int64_t now, int jobs) {
    const auto user = std::find_if(scenario.users.begin(), scenario.users.end(),
                                   [&](const UserSpec& u) { return u.name == work.user; });
    Batch batch;
    batch.id = db.batches.next_key();
    batch.user_id = user - scenario.users.begin() + 1;
    batch.app_id = &app_of(scenario, work) - scenario.apps.data() + 1;
    batch.create_time = now;
    batch.njobs = jobs;
    batch.state = jobs > 0 ? BatchState::kInProgress : BatchState::kInit;
    return batch;
}

/// With the next id; without its name, its files and its class. `size`: which of the sizes.
Workunit job_row(const WorkSpec& work, std::size_t size, const MemoryDb& db, const Batch& batch, std::int64_t now) {
    Workunit wu;
    wu.id = db.workunits.next_key();
    wu.create_time = now;
    wu.appid = batch.app_id;
    wu.xml_doc = "<workunit></workunit>";
    wu.batch = batch.id;
    wu.rsc_fpops_est = work.size_hours[size] * kHour * kBaseFlops * work.estimate;
    wu.rsc_fpops_bound = 1000 * wu.rsc_fpops_est;
    wu.rsc_memory_bound = work.memory_mb * 1e6;
    wu.rsc_disk_bound = work.disk_mb * 1e6;
    wu.transition_time = now;
    wu.delay_bound = static_cast<std::int64_t>(work.delay_bound_days * kDay);
    wu.min_quorum = work.quorum;
    wu.target_nresults = std::max(work.quorum, work.target);
    wu.max_error_results = wu.max_success_results = 10 + wu.target_nresults;
    wu.max_total_results = 20 + 2 * wu.target_nresults;
    wu.result_template_file = "out";
    if (work.gang.size > 0) send_by_gang_planner_only(wu);
    return wu;
}

// Gangs in a simulated project: they are submitted as sluice_batch does it, and their members meet in a SimulatedGangs.

class SimulatedGangJobs {
  public:
    SimulatedGangJobs(MemoryDb& db, const Clock& clock);

    /// The jobs of a batch, from `first` on: whole gangs, that are in the database.
    void submit(Id batch, Id first, const WorkSpec& work, bool measured);
    SimulatedGangs& simulated() { return simulated_; }
    /// The figures of FleetResult::more.
    void tell(std::map<std::string, double>& more) const;

  private:
    MemoryDb& db_;
    const Clock& clock_;
    MemoryGangStore gangs_;
    MemoryBatchPlanStore plans_;
    SimulatedGangs simulated_;
    bool any_ = false;
};

SimulatedGangJobs::SimulatedGangJobs(MemoryDb& db, const Clock& clock)
    : db_(db), clock_(clock), gangs_(db), plans_(db), simulated_(gangs_, plans_) {}

void SimulatedGangJobs::submit(Id batch, Id first, const WorkSpec& work, bool measured) {
    any_ = true;
    std::vector<GangJob> jobs;
    for (int number = 0; number * work.gang.size < work.jobs; ++number) {
        SimulatedGangs::GangToMake gang{{batch, number}, {},       work.size_hours[0] * kHour,
                                        clock_.now(),    measured, work.gang};
        for (int member = 0; member < work.gang.size; ++member) {
            gang.workunits.push_back(first++);
            jobs.push_back({gang.id, member, db_.workunits.get(gang.workunits.back())->name});
        }
        simulated_.add(gang);
    }
    gangs_.define(jobs, work.gang.size);
}

void SimulatedGangJobs::tell(std::map<std::string, double>& more) const {
    if (!any_) return;
    const GangFigures f = simulated_.figures();
    more["gangs_submitted"] = f.submitted, more["gangs_done"] = f.done;
    more["gang_breaks"] = f.submitted > 0 ? static_cast<double>(f.breaks) / f.submitted : 0;
    const Distribution hours = spread_of(f.hours);
    more["gang_hours_p50"] = hours.p50, more["gang_hours_p95"] = hours.p95, more["gang_hours_max"] = hours.max;
    more["gang_core_hours_useful"] = f.useful, more["gang_core_hours_uneven"] = f.uneven;
    more["gang_core_hours_idle"] = f.idle(), more["gang_core_hours_lost"] = f.lost;
    more["gang_idle_and_lost"] = f.wasted_part();
    const double all = f.useful + f.lost + f.idle();
    if (all <= 0) return;
    more["gang_idle_first"] = f.first_wait / all, more["gang_idle_after_breaks"] = f.later_waits / all;
    more["gang_lost"] = f.lost / all, more["gang_uneven"] = f.uneven / all;
}

constexpr double kLook = 5;    ///< s between two looks of the daemons; upstream's sleep interval
constexpr double kTopUp = 60;  ///< s between two looks of a work generator that keeps jobs waiting
enum Purpose : std::uint64_t { kArrivals = 12, kRealSizes = 13, kEvents = 14, kNetwork = 15, kSizes = 16 };

class FleetSimulation final : public ClientWorld {
  public:
    FleetSimulation(const Scenario& scenario, const SimulationOptions& options)
        : scenario_(scenario),
          options_(options),
          clock_(kStart),
          server_rng_(options.seed, kServerPurpose, 0),
          event_rng_(options.seed, kEvents, 0),
          network_rng_(options.seed, kNetwork, 0),
          classes_(job_classes(scenario)),
          project_(scenario, clock_, server_rng_),
          recorder_(scenario, classes_, kStart),
          gangs_(project_.db(), clock_) {
        recorder_.job_lines = options.job_lines;
        if (options.watcher != nullptr) project_.on_reread = options.watcher->reread;
        end_of_work_ = kStart + scenario.days * kDay;
        end_ = end_of_work_ + scenario.drain_days * kDay;
        options.replay != nullptr ? replay_hosts() : make_hosts();
        make_work();
        for (std::size_t i = 0; i < scenario.events.size(); ++i)
            push(kStart + scenario.events[i].at_day * kDay, Kind::kEvent, i);
        push(kStart, Kind::kTick, 0);
    }

    FleetResult run();

    std::optional<SchedulerReply> rpc(double speed, const SchedulerRequest& request) override;
    double real_flops(Id workunit) override;
    void lost_work(double core_seconds) override { recorder_.lost(core_seconds, clock_.now()); }
    void needed(const Download& download) override { recorder_.needed(download, clock_.now()); }
    SimulatedGangs* gangs() override { return &gangs_.simulated(); }

  private:
    enum class Kind : std::uint8_t { kTick, kHost, kJoin, kWork, kEvent, kRecorded };
    struct Event {
        double time;
        std::uint64_t order;
        Kind kind;
        std::size_t index;
        bool operator>(const Event& o) const { return time != o.time ? time > o.time : order > o.order; }
    };
    struct Source {
        SmallRng rng;
        FileSource files;
        std::size_t first_class = 0, next_size = 0;
        std::vector<std::int64_t> waiting{};  ///< by size: jobs without an instance that was sent
        std::int64_t made = 0;
        Id batch = 0;  ///< of a stream: its jobs belong to its user through it
    };

    void push(double time, Kind kind, std::size_t index) { queue_.push({time, order_++, kind, index}); }
    /// A host is woken at one time only, the one that was said last.
    void push_host(double time, std::size_t slot) {
        if (host_events_.size() <= slot) host_events_.resize(slot + 1);
        host_events_[slot] = order_;
        push(time, Kind::kHost, slot);
    }
    void look(double now);
    void make_hosts();
    void replay_hosts();
    void make_work();
    std::unique_ptr<Client> new_client();
    HostSpec next_spec();
    void leave(std::size_t slot);
    void wake(std::size_t slot);
    void come(std::size_t w);
    void keep_waiting(std::size_t w);
    void happen(const EventSpec& event);
    Id make_batch(std::size_t w, int jobs);
    void make_job(std::size_t w, Id batch);
    void make_jobs(std::size_t w, int jobs);
    double next_arrival(std::size_t w);
    void observe(const SchedulerRequest& request);
    void observe(const SchedulerReply& reply, double speed);

    const Scenario& scenario_;
    const SimulationOptions& options_;
    VirtualClock clock_;
    SmallRng server_rng_, event_rng_, network_rng_;
    std::vector<JobClass> classes_;
    SimProject project_;
    Recorder recorder_;
    std::vector<std::unique_ptr<Client>> clients_;  ///< null: gone and not replaced
    std::unique_ptr<ReplayedHosts> replayed_;       ///< instead of clients
    std::vector<HostRecord> gone_;
    std::vector<HostSpec> trace_;
    std::vector<std::shared_ptr<const RecordedSessions>> recorded_;
    std::vector<Source> sources_;
    IdSet sent_, reported_;  ///< results; a lost reply has both again
    std::priority_queue<Event, std::vector<Event>, std::greater<>> queue_;
    std::vector<std::uint64_t> host_events_;  ///< by slot: Event::order of the one that counts
    std::uint64_t order_ = 0, next_host_ = 0, requests_ = 0;
    double end_of_work_ = 0, end_ = 0, demand_ = 1;
    SimulatedGangJobs gangs_;
};

void FleetSimulation::make_hosts() {
    if (!scenario_.fleet.trace.empty()) trace_ = read_trace(scenario_.fleet, options_.seed);
    if (!scenario_.fleet.sessions.empty()) recorded_ = read_sessions(scenario_.fleet.sessions);
    const std::size_t hosts = trace_.empty() ? static_cast<std::size_t>(scenario_.fleet.hosts) : trace_.size();
    std::vector<double> speeds;
    for (std::size_t i = 0; i < hosts; ++i) {
        clients_.push_back(new_client());
        speeds.push_back(clients_.back()->spec().speed);
        push_host(kStart, i);
    }
    recorder_.set_host_speeds(std::move(speeds));
}

void FleetSimulation::replay_hosts() {
    std::vector<std::string> keys;
    for (std::size_t i = 0; i < options_.replay->hosts; ++i) keys.push_back(project_.add_volunteer(i));
    replayed_ = std::make_unique<ReplayedHosts>(*options_.replay, scenario_.fleet, options_.seed, std::move(keys));
    recorder_.set_host_speeds(replayed_->speeds());
    const double start = kStart + scenario_.warmup_days * kDay + kReplayLead;
    for (std::size_t i = 0; i < options_.replay->requests.size(); ++i)
        push(start + options_.replay->requests[i].at, Kind::kRecorded, i);
}

HostSpec FleetSimulation::next_spec() {
    const std::uint64_t number = next_host_++;
    HostSpec spec = trace_.empty() ? draw_host(scenario_.fleet, options_.seed, number) : trace_[number % trace_.size()];
    spec.number = number;
    if (!recorded_.empty()) spec.sessions = recorded_[number % recorded_.size()];
    return spec;
}

std::unique_ptr<Client> FleetSimulation::new_client() {
    const HostSpec spec = next_spec();
    return std::make_unique<Client>(spec, options_.seed, clock_.now(), project_.add_volunteer(spec.number));
}

void FleetSimulation::make_work() {
    std::size_t first_class = 0;
    for (std::size_t w = 0; w < scenario_.work.size(); ++w) {
        const WorkSpec& work = scenario_.work[w];
        sources_.push_back({SmallRng(options_.seed, kArrivals, w), FileSource(work.files, w), first_class, 0,
                            std::vector<std::int64_t>(work.size_hours.size()), 0, 0});
        first_class += work.size_hours.size();
        if (work.kind == WorkSpec::Kind::kStream) sources_[w].batch = make_batch(w, 0);
        double first = kStart + work.from_day * kDay;
        if (work.kind == WorkSpec::Kind::kBatches && work.poisson) first += next_arrival(w);
        push(first, Kind::kWork, w);
    }
}

double FleetSimulation::next_arrival(std::size_t w) {
    const WorkSpec& work = scenario_.work[w];
    SmallRng& rng = sources_[w].rng;
    if (work.kind == WorkSpec::Kind::kBatches) {
        const double mean = work.every_hours * kHour / demand_;
        return work.poisson ? rng.exponential(mean) : mean;
    }
    return work.jobs_per_day > 0 ? rng.exponential(kDay / (work.jobs_per_day * demand_)) : kTopUp;
}

void FleetSimulation::come(std::size_t w) {
    const WorkSpec& work = scenario_.work[w];
    Source& source = sources_[w];
    const double now = clock_.now();
    if (now >= std::min(end_of_work_, kStart + work.until_day * kDay)) return;
    if (project_.database_away()) return push(now + kTopUp, Kind::kWork, w);
    if (work.kind == WorkSpec::Kind::kBatches)
        make_jobs(w, work.jobs);
    else if (work.jobs_per_day > 0)
        make_job(w, source.batch);
    else
        keep_waiting(w);
    push(now + next_arrival(w), Kind::kWork, w);
}

/// Jobs of each size, as many of one as of another.
void FleetSimulation::keep_waiting(std::size_t w) {
    Source& source = sources_[w];
    const auto sizes = static_cast<double>(source.waiting.size());
    const auto keep = static_cast<std::int64_t>(std::ceil(scenario_.work[w].keep * demand_ / sizes));
    for (bool made = true; made;) {
        made = false;
        for (std::size_t size = 0; size < source.waiting.size(); ++size) {
            if (source.waiting[size] >= keep) continue;
            source.next_size = size;
            make_job(w, source.batch);
            made = true;
        }
    }
}

Id FleetSimulation::make_batch(std::size_t w, int jobs) {
    const Batch batch = batch_row(scenario_, scenario_.work[w], project_.db(), clock_.now_sec(), jobs);
    project_.db().batches.put(batch.id, batch);
    return batch.id;
}

void FleetSimulation::make_jobs(std::size_t w, int jobs) {
    const Id batch = make_batch(w, jobs);
    double hours = 0;
    for (const double h : scenario_.work[w].size_hours) hours += h;
    hours /= static_cast<double>(scenario_.work[w].size_hours.size());
    const AppSpec& app = app_of(scenario_, scenario_.work[w]);
    recorder_.batch_came({batch, clock_.now(), jobs, jobs, 0, hours * kHour * kBaseFlops, w, 0, app.gpu, app.threads});
    const Id first = project_.db().workunits.next_key();
    for (int i = 0; i < jobs; ++i) make_job(w, batch);
    if (scenario_.work[w].gang.size <= 0) return;
    gangs_.submit(batch, first, scenario_.work[w], clock_.now() >= kStart + scenario_.warmup_days * kDay);
    project_.start_gang_planner();
}

/// The daemons, and the members of gangs.
void FleetSimulation::look(double now) {
    project_.run_daemons(recorder_);
    if (!project_.database_away()) {
        gangs_.simulated().look(now);
        for (const std::size_t slot : gangs_.simulated().take_hosts_to_wake()) push_host(now, slot);
    }
    if (options_.watcher != nullptr) options_.watcher->looked(now);
    push(now + kLook, Kind::kTick, 0);
}

void FleetSimulation::make_job(std::size_t w, Id batch) {
    const WorkSpec& work = scenario_.work[w];
    Source& source = sources_[w];
    const std::size_t size = source.next_size++ % work.size_hours.size();
    Workunit wu = job_row(work, size, project_.db(), *project_.db().batches.get(batch), clock_.now_sec());
    const AppSpec& app = scenario_.apps[static_cast<std::size_t>(wu.appid) - 1];
    wu.name = fmt::format("w{}_{}", w, source.made++);
    source.files.give(wu, app, project_.db());
    wu.size_class = app.size_classes > 1 ? static_cast<int>(size) : -1;
    wu.opaque = static_cast<double>(source.first_class + size);
    ++source.waiting[size];
    recorder_.submitted(wu, clock_.now());
    const Id id = wu.id;
    if (options_.watcher != nullptr) options_.watcher->submitted(wu);
    project_.db().workunits.put(id, std::move(wu));
}

double FleetSimulation::real_flops(Id workunit) {
    const Workunit* wu = project_.db().workunits.get(workunit);
    if (wu == nullptr) throw Error(fmt::format("workunit {} was sent and does not exist", workunit));
    const JobClass& c = classes_[static_cast<std::size_t>(wu->opaque)];
    SmallRng rng(options_.seed, kRealSizes, static_cast<std::uint64_t>(workunit));
    return rng.log_normal(c.hours * kHour * kBaseFlops, scenario_.work[c.work].size_sigma);
}

/// What a request tells of results, before the database changes.
void FleetSimulation::observe(const SchedulerRequest& request) {
    const auto& by_name = project_.db().results.index().by_name;
    for (const ReportedResult& r : request.results) {
        const auto at = by_name.find(r.name);
        if (at == by_name.end()) continue;
        const Result& result = *project_.db().results.get(at->second.front());
        const Workunit* wu = project_.db().workunits.get(result.workunitid);
        if (wu != nullptr && r.elapsed_time > 0 && reported_.insert(result.id)) recorder_.reported(*wu, clock_.now());
        if (!r.file_infos.empty()) project_.wrong_results().insert(r.name);
    }
}

void FleetSimulation::observe(const SchedulerReply& reply, double speed) {
    for (const ReplyJob& job : reply.jobs) {
        // One that the scheduler has made itself, a member of a gang, has no id in the reply.
        const Result& result = *project_.db().results.get(project_.db().results.index().by_name.at(job.result_name)[0]);
        const Workunit& wu = *project_.db().workunits.get(job.workunit_id);
        if (!sent_.insert(result.id)) continue;
        const bool gpu = job.version.usage.proc_type != ProcType::kCpu;
        const double seconds = real_flops(wu.id) / (speed * kBaseFlops * (gpu ? kGpuSpeed : 1));
        recorder_.sent(result, wu, speed, seconds, clock_.now());
        const auto c = static_cast<std::size_t>(wu.opaque);
        Source& source = sources_[classes_[c].work];
        if (job.result_name.ends_with("_0")) --source.waiting[c - source.first_class];
    }
}

std::optional<SchedulerReply> FleetSimulation::rpc(double speed, const SchedulerRequest& request) {
    ++requests_;
    const bool away = project_.database_away();
    if (!away) observe(request);
    SchedulerReply reply = project_.rpc(request);
    observe(reply, speed);
    if (options_.watcher != nullptr) options_.watcher->answered(clock_.now(), request, reply);
    recorder_.asked(request.work_req_seconds > 0, reply.jobs.empty(), clock_.now());
    if (network_rng_.chance(scenario_.fleet.lost_rate)) return std::nullopt;
    return reply;
}

void FleetSimulation::leave(std::size_t slot) {
    Client& client = *clients_[slot];
    client.vanish(clock_.now(), *this);
    gone_.push_back({client.spec(), client.joined(), clock_.now(), client.contacts()});
    clients_[slot].reset();
}

void FleetSimulation::wake(std::size_t slot) {
    if (!clients_[slot]) return;
    const double now = clock_.now();
    if (now >= clients_[slot]->dies_at()) {
        leave(slot);
        clients_[slot] = new_client();
    }
    gangs_.simulated().visit(slot);
    push_host(clients_[slot]->wake(now, *this), slot);
}

void FleetSimulation::happen(const EventSpec& event) {
    const double now = clock_.now();
    using What = EventSpec::What;
    switch (event.what) {
        case What::kDatabaseAway: project_.database_away_until(now + event.hours * kHour); break;
        case What::kDemand: demand_ = event.part; break;
        case What::kHostsVanish:
            for (std::size_t i = 0; i < clients_.size(); ++i)
                if (clients_[i] && event_rng_.chance(event.part)) leave(i);
            break;
        case What::kHostsFail:
            for (const auto& client : clients_)
                if (client && event_rng_.chance(event.part)) client->fail_from_now_on();
            break;
        case What::kHostsJoin:
            for (int i = 0; i < static_cast<int>(event.part * scenario_.fleet.hosts); ++i)
                push(now + kHour * event_rng_.uniform(), Kind::kJoin, 0);
            break;
    }
}

FleetResult FleetSimulation::run() {
    double said = 0;
    if (options_.watcher != nullptr) options_.watcher->starts(project_.db());
    while (!queue_.empty() && queue_.top().time < end_) {
        const Event event = queue_.top();
        queue_.pop();
        clock_.set(std::max(clock_.now(), event.time));
        recorder_.set_now(clock_.now());
        switch (event.kind) {
            case Kind::kTick:
                if (options_.stop && options_.stop()) throw Error("stopped");
                look(event.time);
                break;
            case Kind::kHost:
                if (event.order == host_events_[event.index]) wake(event.index);
                break;
            case Kind::kRecorded: replayed_->ask(event.index, clock_.now(), *this); break;
            case Kind::kJoin:
                clients_.push_back(new_client());
                push_host(event.time, clients_.size() - 1);
                break;
            case Kind::kWork: come(event.index); break;
            case Kind::kEvent: happen(scenario_.events[event.index]); break;
        }
        const double part = (clock_.now() - kStart) / (end_ - kStart);
        if (options_.progress && part > said + 0.01) options_.progress(said = part);
        if (clock_.now() > end_of_work_ && event.kind == Kind::kTick && !recorder_.has_open_batches()) break;
    }
    if (clock_.now() < end_of_work_) clock_.set(end_of_work_);
    project_.close(recorder_);
    for (const auto& [id, result] : std::as_const(project_.db()).results.rows())
        if (result.server_state == ServerState::kUnsent)
            recorder_.never_sent(result, *project_.db().workunits.get(result.workunitid));
    FleetResult result = recorder_.result(options_.seed, clock_.now());
    result.hosts = trace_.empty() ? scenario_.fleet.hosts : static_cast<int>(trace_.size());
    result.statements_per_request =
        requests_ > 0 ? static_cast<double>(project_.rpc_verbs()) / static_cast<double>(requests_) : 0;
    gangs_.tell(result.more);
    if (replayed_) return result;  // nobody knows when else these hosts could have asked
    for (const auto& c : clients_)
        if (c) gone_.push_back({c->spec(), c->joined(), std::numeric_limits<double>::infinity(), c->contacts()});
    result.bounds = lower_bounds(gone_, recorder_.measured_batches(), options_.seed, kStart);
    if (const auto times = times_contact_bound(result)) result.more["times_contact_bound_p50"] = *times;
    return result;
}

}  // namespace

FleetResult simulate_fleet(const Scenario& scenario, const SimulationOptions& options) {
    return FleetSimulation(scenario, options).run();
}

}  // namespace sluice::sim
