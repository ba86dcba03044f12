// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/sim/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "sched/rpc/reply.h"

namespace sluice::sim {
namespace {

constexpr double kNeverHappens = std::numeric_limits<double>::infinity();
constexpr double kPoll = 60;           ///< the client looks that often whether it should fetch work
constexpr double kMoment = 1e-6;       ///< s of run time: what ends so soon has ended
constexpr double kNoReplyDelay = 600;  ///< s until the client tries again; upstream's first back-off
constexpr std::uint64_t kClientPurpose = 3;

}  // namespace

Client::Client(const HostSpec& spec, std::uint64_t seed, double now, std::string account_key)
    : spec_(spec),
      sessions_(spec, seed, now - kStart),
      rng_(seed, kClientPurpose, spec.number),
      account_key_(std::move(account_key)),
      joined_(now),
      dies_at_(now + spec.lifetime),
      last_(now),
      files_(spec.files_room),
      backoff_(spec.gpus > 0 ? 2 : 1) {
    next_toggle_ = now + sessions_.first(rng_);
    on_since_ = now - sessions_.passed();
    next_rpc_ = now + 300 * rng_.uniform();
}

double Client::wake(double now, ClientWorld& world) {
    compute(now);
    while (now >= next_toggle_) {
        sessions_.toggle();
        if (sessions_.on()) on_since_ = next_toggle_;
        next_toggle_ += sessions_.next();
    }
    if (sessions_.on()) {
        if (gangs_ != nullptr) hear_of_gangs(now, *gangs_);
        end_jobs(now, world);
        const bool may_talk = now >= next_rpc_;
        if (changed_ || may_talk) {
            const View before = view(now);
            if (changed_) choose(now, before);
            if (may_talk) talk(now, world, before);
        }
        if (changed_) choose(now, view(now));
    }
    if (gangs_ != nullptr) tell_gangs(now, *gangs_);
    return next_time(now);
}

void Client::vanish(double now, ClientWorld& world) {
    compute(now);
    for (const ClientJob& j : jobs_) {
        world.lost_work(j.done);
        if (j.gang) gangs_->leave(*j.gang, now);
    }
    jobs_.clear();
}

void Client::compute(double now) {
    if (sessions_.on())
        for (ClientJob& j : jobs_)
            if (j.running) j.done = std::min(j.gang ? kNeverHappens : j.real, j.done + (now - last_) * rate());
    last_ = now;
}

void Client::end_jobs(double now, ClientWorld&) {
    for (ClientJob& j : jobs_) {
        if (j.over) continue;
        const bool done =
            j.gang ? gangs_->fate(*j.gang) != SimulatedGangs::Fate::kOpen : j.running && j.done >= j.real - kMoment;
        const client::Job policy{.deadline = j.deadline, .started = j.done > 0};
        j.abandoned = !done && client::is_abandoned(policy, now + spec_.clock_error);
        if (!done && !j.abandoned) continue;
        j.over = true;
        j.running = false;
        j.report_by = j.immediately ? now : client::report_by(now, j.deadline - spec_.clock_error, spec_.buffer_min);
        changed_ = true;
    }
}

/// What has become of its members of gangs.
void Client::hear_of_gangs(double now, SimulatedGangs& gangs) {
    for (ClientJob& j : jobs_) {
        if (!j.gang || j.over) continue;
        if (gangs.fate(*j.gang) == SimulatedGangs::Fate::kFailed) j.fails = true;
        if (gangs.fate(*j.gang) == SimulatedGangs::Fate::kGivenUp) j.cancelled = true;
        const double until = gangs.away_until(*j.gang);
        changed_ |= (now < until) != (j.not_before > 0);
        j.not_before = now < until ? until : 0;
    }
}

void Client::tell_gangs(double now, SimulatedGangs& gangs) const {
    for (const ClientJob& j : jobs_) {
        if (!j.gang) continue;
        if (j.over)
            gangs.leave(*j.gang, now);
        else
            gangs.let_run(*j.gang, sessions_.on() && j.running, now);
    }
}

client::Job Client::as_the_client_sees_it(const ClientJob& j) const {
    // What a client believes of a job that has begun moves from the estimate to what its progress says.
    const double part = j.gang ? gangs_->fraction_done(*j.gang) : j.real > 0 ? j.done / j.real : 1;
    const double real = j.gang ? j.estimate : j.real;
    const double left = (1 - part) * (part * real + (1 - part) * j.estimate);
    return {.type = j.gpu ? 1u : 0u,
            .instances = j.gpu ? 1 : j.cpus,
            .cpus = j.gpu ? 0.1 : 0,
            .remaining = left,
            .deadline = j.deadline,
            .started = j.done > 0};
}

client::State Client::state(double now) const {
    client::State s;
    s.now = now + spec_.clock_error;
    s.work_buf_min = spec_.buffer_min;
    s.work_buf_additional = spec_.buffer_more;
    s.on_frac = std::max(0.01, sessions_.part_on() * rate());
    s.types.push_back({.is_cpu = true, .instances = static_cast<double>(spec_.cores)});
    if (spec_.gpus > 0) s.types.push_back({.is_cpu = false, .instances = static_cast<double>(spec_.gpus)});
    client::Project p;
    for (const client::Backoff& b : backoff_) p.backoff_until.push_back(b.until > 0 ? b.until + spec_.clock_error : 0);
    s.projects.push_back(p);
    for (const ClientJob& j : jobs_)
        if (!j.over && j.not_before <= 0) s.jobs.push_back(as_the_client_sees_it(j));
    return s;
}

Client::View Client::view(double now) const {
    View v{state(now), {}};
    v.forecast = client::round_robin(v.state);
    return v;
}

/// Which jobs run, and when work will be short.
void Client::choose(double now, const View& view) {
    std::vector<ClientJob*> open;
    for (ClientJob& j : jobs_) {
        j.running = false;
        if (!j.over && j.not_before <= 0) open.push_back(&j);
    }
    for (const std::size_t i : client::jobs_to_run(view.state, view.forecast)) open[i]->running = true;
    next_fetch_ = kNeverHappens;
    for (std::size_t t = 0; t < backoff_.size(); ++t) {
        const double soon = now + std::max(0.0, view.forecast.types[t].saturated - spec_.buffer_min);
        next_fetch_ = std::min(next_fetch_, std::max(soon, backoff_[t].until));
    }
    changed_ = false;
}

/// What is over is reported with the next request, and no longer counts then.
bool Client::full() const {
    const auto held = std::count_if(jobs_.begin(), jobs_.end(), [](const ClientJob& j) { return !j.over; });
    return static_cast<std::size_t>(held) >=
           static_cast<std::size_t>(spec_.cores) * static_cast<std::size_t>(spec_.max_jobs_per_core);
}

void Client::talk(double now, ClientWorld& world, const View& view) {
    const bool report =
        std::any_of(jobs_.begin(), jobs_.end(), [now](const ClientJob& j) { return j.over && j.report_by <= now; });
    const bool wanted_there = now >= come_at_;
    if (!report && !wanted_there && now < next_fetch_) return;
    std::optional<client::FetchRequest> wanted;
    if (hostid_ == 0)
        wanted = first_request();
    else if (!full())
        wanted = report || wanted_there ? client::work_to_piggyback(view.state, view.forecast, 0)
                                        : client::work_to_fetch(view.state, view.forecast);
    if (!report && !wanted && !wanted_there) {
        next_fetch_ = now + kPoll;
        return;
    }
    contacts_.push_back(static_cast<float>((now - kStart) / 3600));
    const auto reply = world.rpc(spec_.speed, request(now, view, wanted));
    ++seqno_;
    if (reply)
        take(*reply, wanted, now, world);
    else
        next_rpc_ = now + kNoReplyDelay * (0.5 + rng_.uniform());
}

/// A client that has no host id of the project yet asks for a second of each type: for a job, until it knows more.
client::FetchRequest Client::first_request() const {
    return {.project = 0, .types = std::vector<client::TypeRequest>(backoff_.size(), {.seconds = 1, .instances = 0})};
}

void Client::describe(Host& h) const {
    h.domain_name = h.host_cpid = "sim" + std::to_string(spec_.number);
    h.last_ip_addr = "127.0.0.1";
    h.os_name = spec_.os;
    h.os_version = "1";
    h.p_vendor = spec_.vendor;
    h.p_model = spec_.model;
    h.p_ncpus = spec_.cores;
    h.p_fpops = spec_.speed * 1e9;
    h.p_iops = 2e9;
    h.m_nbytes = spec_.memory;
    h.d_total = 2 * spec_.disk;
    h.d_free = spec_.disk;
    h.on_frac = sessions_.part_on();
    h.connected_frac = 1;
    h.active_frac = h.gpu_active_frac = rate();
    h.duration_correction_factor = 1;
}

ReportedResult report_of(const std::string& name, double run_time, const JobOutcome& end) {
    ReportedResult report;
    report.name = name;
    report.elapsed_time = report.cpu_time = run_time;
    report.exit_status_given = true;
    const bool aborted = end.abandoned || end.cancelled, well = !aborted && !end.fails;
    report.client_state = static_cast<int>(well      ? ClientState::kFilesUploaded
                                           : aborted ? ClientState::kAborted
                                                     : ClientState::kComputeError);
    report.exit_status = well ? 0 : end.cancelled ? kExitAbortedByProject : end.abandoned ? kExitUnstartedLate : 1;
    report.app_version_num = 100;
    if (end.wrong) report.file_infos = "<wrong/>";
    return report;
}

/// What is on the host, and what is over and reported.
void Client::list_jobs(SchedulerRequest& r) const {
    r.has_other_results = true;
    for (const ClientJob& j : jobs_) {
        if (!j.over) {
            r.other_results.push_back({.name = j.name, .plan_class = j.plan_class});
            continue;
        }
        r.results.push_back(report_of(j.name, j.done, {j.abandoned, j.fails, j.wrong, j.cancelled}));
    }
}

SchedulerRequest Client::request(double now, const View& view,
                                 const std::optional<client::FetchRequest>& wanted) const {
    SchedulerRequest r;
    r.authenticator = account_key_;
    r.hostid = hostid_;
    r.rpc_seqno = hostid_ == 0 ? 0 : seqno_;
    r.core_major = 7, r.core_minor = 20, r.core_release = 5;
    r.platform_name = spec_.os.starts_with("Darwin")  ? "x86_64-apple-darwin"
                      : spec_.os.starts_with("Linux") ? "x86_64-pc-linux-gnu"
                                                      : "windows_x86_64";
    r.client_cap_plan_class = true;
    r.has_host_info = r.has_time_stats = true;
    r.client_now = now + spec_.clock_error;
    r.client_start = on_since_ + spec_.clock_error;
    describe(r.host);
    if (wanted) {
        r.cpu_req_secs = wanted->types[0].seconds;
        r.cpu_req_instances = wanted->types[0].instances;
        if (hostid_ != 0) r.cpu_estimated_delay = client::busy_times(view.state, view.forecast.misses)[0];
        r.work_req_seconds = r.cpu_req_secs;
    }
    if (spec_.gpus > 0) {
        Coproc gpu;
        gpu.type = "NVIDIA", gpu.proc_type = ProcType::kNvidia, gpu.model = "Sim", gpu.count = spec_.gpus;
        gpu.peak_flops = spec_.speed * 1e9 * kGpuSpeed;
        gpu.available_ram = gpu.total_ram = 8e9;
        gpu.have_cuda = true, gpu.cuda_version = 12000, gpu.driver_version = 53000, gpu.compute_capability = 806;
        if (wanted) {
            gpu.req_secs = wanted->types[1].seconds, gpu.req_instances = wanted->types[1].instances;
            r.work_req_seconds = std::max(r.work_req_seconds, gpu.req_secs);
        }
        r.coprocs.push_back(gpu);
    }
    r.working_global_prefs = fmt::format(
        "<global_preferences><work_buf_min_days>{}</work_buf_min_days></global_preferences>", spec_.buffer_min / 86400);
    list_jobs(r);
    files_.tell(r.files);
    return r;
}

void Client::take(const SchedulerReply& reply, const std::optional<client::FetchRequest>& wanted, double now,
                  ClientWorld& world) {
    if (reply.send_hostid) {
        hostid_ = reply.host.id;
        seqno_ = 0;
    }
    if (gangs_ != nullptr) tell_gangs(now, *gangs_);  // before they are forgotten
    for (const std::string& name : reply.result_acks)
        changed_ |= std::erase_if(jobs_, [&](const ClientJob& j) { return j.name == name; }) > 0;
    // What the client cancels for the server it reports, too, with exit status 202.
    const auto cancel = [&](const std::vector<std::string>& names, bool only_unstarted) {
        for (const std::string& name : names) {
            const auto j = std::find_if(jobs_.begin(), jobs_.end(), [&](const ClientJob& x) { return x.name == name; });
            if (j == jobs_.end() || j->over || (only_unstarted && j->done > 0)) continue;
            world.lost_work(j->done);
            j->done = 0;
            j->cancelled = j->over = changed_ = true;
            j->running = false;
            j->report_by = client::report_by(now, j->deadline - spec_.clock_error, spec_.buffer_min);
        }
    };
    cancel(reply.result_aborts, false);
    cancel(reply.result_aborts_if_not_started, true);
    files_.remove(reply.delete_files);
    std::vector<bool> came(backoff_.size());
    for (const ReplyJob& job : reply.jobs) {
        accept(job, now, world);
        const bool gpu = job.version.usage.proc_type != ProcType::kCpu;
        if (gpu && came.size() > 1) came[1] = true;
        if (!gpu) came[0] = true;
    }
    for (std::size_t t = 0; t < backoff_.size(); ++t) {
        if (came[t])
            backoff_[t].clear();
        else if (wanted && wanted->types[t].seconds > 0)
            backoff_[t].refused(now, rng_.uniform());
    }
    next_rpc_ = now + std::max(1.0, delay_to_send(reply));
    come_at_ = reply.next_rpc_delay > 0 ? now + reply.next_rpc_delay : kNeverHappens;
    changed_ = true;
}

void Client::accept(const ReplyJob& job, double now, ClientWorld& world) {
    const auto known =
        std::find_if(jobs_.begin(), jobs_.end(), [&](const ClientJob& j) { return j.name == job.result_name; });
    if (known != jobs_.end()) return;
    if (const Download download = files_.take(job.wu_xml); download.files > 0) world.needed(download);
    ClientJob& j = jobs_.emplace_back();
    j.name = job.result_name;
    j.workunit = job.workunit_id;
    j.deadline = static_cast<double>(job.report_deadline);
    j.immediately = job.report_immediately;
    j.gpu = job.version.usage.proc_type != ProcType::kCpu;
    j.plan_class = job.version.plan_class;
    j.estimate = job.rsc_fpops_est / std::max(1.0, job.version.usage.projected_flops);
    if (!j.gpu) j.cpus = std::max(job.version.usage.avg_ncpus, 1.0);
    j.real = world.real_flops(job.workunit_id) / (spec_.speed * 1e9 * (j.gpu ? kGpuSpeed : j.cpus));
    j.fails = rng_.chance(spec_.error_rate);
    j.wrong = rng_.chance(spec_.wrong_rate);
    const double failed_at = rng_.uniform();
    if (j.fails) j.real *= failed_at;
    if (SimulatedGangs* const gangs = world.gangs()) {
        j.gang = gangs->begin(job.workunit_id, job.result_name, spec_.speed * rate(), j.fails ? failed_at : 0);
        if (j.gang) gangs_ = gangs, j.fails = false;  // it fails if its process does
    }
    (void)now;
}

double Client::next_time(double now) const {
    double next = std::min(next_toggle_, dies_at_);
    if (!sessions_.on()) return next;
    double talk = std::min(full() ? kNeverHappens : next_fetch_, come_at_);
    for (const ClientJob& j : jobs_) {
        if (j.over)
            talk = std::min(talk, j.report_by);
        else if (j.not_before > 0)
            next = std::min(next, std::max(j.not_before, now));
        else if (j.running && !j.gang)
            next = std::min(next, now + (j.real - j.done) / rate());
        else if (j.done <= 0)
            next = std::min(next, std::max(now + 1, j.deadline - spec_.clock_error));
    }
    return std::min(next, std::max({talk, next_rpc_, now}));
}

}  // namespace sluice::sim
