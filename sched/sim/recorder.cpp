// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/sim/recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace sluice::sim {
namespace {

constexpr int kHalvings = 60;
constexpr double kSame = 1e-9;  ///< of all that is there

double total(const PerDevice& p) { return p[0] + p[1]; }

class WaterFilling {
  public:
    WaterFilling(const std::vector<double>& quotas, const std::vector<PerDevice>& work, const PerDevice& there)
        : quotas_(quotas), work_(work), there_(there), gets_(quotas.size()) {}

    std::vector<double> totals() {
        std::vector<bool> rises(quotas_.size());
        for (std::size_t u = 0; u < quotas_.size(); ++u) rises[u] = quotas_[u] > 0 && total(work_[u]) > 0;
        while (std::find(rises.begin(), rises.end(), true) != rises.end()) {
            raise(rises);
            // Those stop for whom a little more is too much.
            bool any = false;
            for (std::size_t u = 0; u < rises.size(); ++u) {
                if (!rises[u]) continue;
                const double more = kSame * total(there_);
                gets_[u] += more;
                const bool stops = !feasible();
                gets_[u] -= more;
                if (stops) rises[u] = false, any = true;
            }
            if (!any) break;
        }
        return gets_;
    }

  private:
    /// All rise by their quotas until nobody can.
    void raise(const std::vector<bool>& rises) {
        const std::vector<double> from = gets_;
        double quota = 0, low = 0;
        for (std::size_t u = 0; u < rises.size(); ++u)
            if (rises[u]) quota = quota > 0 ? std::min(quota, quotas_[u]) : quotas_[u];
        double high = total(there_) / quota;
        const auto set = [&](double level) {
            for (std::size_t u = 0; u < rises.size(); ++u) gets_[u] = from[u] + (rises[u] ? level * quotas_[u] : 0);
        };
        for (int i = 0; i < kHalvings; ++i) {
            const double middle = (low + high) / 2;
            set(middle);
            (feasible() ? low : high) = middle;
        }
        set(low);
    }
    /// What a user gets beyond his work for the one kind must be had of the other.
    bool feasible() const {
        PerDevice must{};
        for (std::size_t u = 0; u < gets_.size(); ++u) {
            if (gets_[u] > total(work_[u])) return false;
            for (const std::size_t d : {0u, 1u}) must[d] += std::max(0.0, gets_[u] - work_[u][1 - d]);
        }
        const double all = std::accumulate(gets_.begin(), gets_.end(), 0.0);
        return must[0] <= there_[0] && must[1] <= there_[1] && all <= total(there_);
    }

    const std::vector<double>& quotas_;
    const std::vector<PerDevice>& work_;
    const PerDevice& there_;
    std::vector<double> gets_;
};

}  // namespace

std::vector<PerDevice> fluid_of(const std::vector<double>& quotas, const std::vector<PerDevice>& work,
                                const PerDevice& there) {
    const std::vector<double> totals = WaterFilling(quotas, work, there).totals();
    // Of processors each gets at least what he can't have of GPUs, and all together what GPUs don't do.
    double least = 0, most = 0, all = 0;
    for (std::size_t u = 0; u < totals.size(); ++u) {
        least += std::max(0.0, totals[u] - work[u][1]);
        most += std::min(totals[u], work[u][0]);
        all += totals[u];
    }
    const double wanted = std::clamp(all - there[1], least, std::max(least, most));
    const double part = most > least ? (wanted - least) / (most - least) : 0;
    std::vector<PerDevice> parts(totals.size());
    for (std::size_t u = 0; u < totals.size(); ++u) {
        const double low = std::max(0.0, totals[u] - work[u][1]), high = std::min(totals[u], work[u][0]);
        parts[u][0] = low + part * (high - low);
        parts[u][1] = totals[u] - parts[u][0];
    }
    return parts;
}

namespace {

constexpr int kShareWindow = 30;  ///< days
constexpr double kEndless = std::numeric_limits<double>::infinity();
constexpr double kStrandedAfter = 2;  ///< delay bounds

/// No two have the same: figures are kept by them.
std::string class_name(const std::vector<JobClass>& others, const WorkSpec& work, std::size_t w, std::size_t size) {
    const auto taken = [&](const std::string& name) {
        return std::any_of(others.begin(), others.end(), [&](const JobClass& c) { return c.name == name; });
    };
    const char* kind = work.gang.size > 0 ? "gangs" : work.kind == WorkSpec::Kind::kBatches ? "batches" : "stream";
    std::string name = fmt::format("{} {} {:g} h", work.user, kind, work.size_hours[size]);
    if (taken(name)) name += fmt::format(", work[{}]", w);
    if (taken(name)) name += fmt::format(" sizes[{}]", size);
    return name;
}

}  // namespace

std::vector<JobClass> job_classes(const Scenario& scenario) {
    std::vector<JobClass> classes;
    for (std::size_t w = 0; w < scenario.work.size(); ++w) {
        const WorkSpec& work = scenario.work[w];
        for (std::size_t size = 0; size < work.size_hours.size(); ++size)
            classes.push_back({w, work.size_hours[size], class_name(classes, work, w, size)});
    }
    return classes;
}

Recorder::Recorder(const Scenario& scenario, const std::vector<JobClass>& classes, double start)
    : scenario_(scenario),
      classes_(classes),
      start_(start),
      measured_from_(start + scenario.warmup_days * kDay),
      oldest_unsent_(classes.size()),
      last_sent_(scenario.work.size()),
      longest_gap_(scenario.work.size()),
      waits_(classes.size()),
      host_by_job_(4, std::vector<std::int64_t>(classes.size())),
      work_by_day_(scenario.users.size()),
      new_by_day_(scenario.users.size()) {
    for (std::size_t u = 0; u < scenario.users.size(); ++u) user_[scenario.users[u].name] = u;
}

void Recorder::set_host_speeds(std::vector<double> speeds) {
    std::sort(speeds.begin(), speeds.end());
    for (const std::size_t quarter : {1u, 2u, 3u})
        speed_quarters_.push_back(speeds.empty() ? 0 : speeds[quarter * speeds.size() / 4]);
}

std::size_t Recorder::day(double now) const { return static_cast<std::size_t>(std::max(0.0, (now - start_) / kDay)); }

void Recorder::submitted(const Workunit& wu, double now) {
    if (measured(now)) ++submitted_;
    const WorkSpec& work = scenario_.work[class_of(wu).work];
    at(new_by_day_[user_.at(work.user)], day(now))[device_of(work)] += real_work(wu) * wu.min_quorum;
    if (wu.batch != 0 && !batches_.empty() && batches_.back().id == wu.batch)
        batch_index_[wu.batch] = batches_.size() - 1;
}

void Recorder::asked(bool for_work, bool got_none, double now) {
    const bool counts = measured(now);
    requests_ += counts;
    if (!for_work) return;
    work_requests_ += counts;
    if (!got_none) return;
    empty_ += counts;
    ++at(empty_by_day_, day(now));
}

bool Recorder::is_in_band(double hours) const {
    return hours >= scenario_.target_hours / 4 && hours <= scenario_.target_hours * 4;
}

void Recorder::sent(const Result& result, const Workunit& wu, double speed, double seconds, double now) {
    if (!measured(now)) return;
    ++first_sent_;
    sent_in_band_ += is_in_band(seconds / kHour);
    if (wu.min_quorum > 1) started_jobs_.try_emplace(wu.id, StartedJob{now, static_cast<double>(wu.delay_bound)});
    note_gap(class_of(wu).work, now);
    const auto batch = batch_index_.find(wu.batch);
    const bool is_first = result.name.ends_with("_0") || scenario_.work[class_of(wu).work].gang.size > 0;
    if (batch != batch_index_.end() && is_first) batches_[batch->second].last_sent = now;
    const auto c = static_cast<std::size_t>(wu.opaque);
    waits_[c].push_back((now - static_cast<double>(result.create_time)) / kHour);
    std::size_t quarter = 0;
    while (quarter < speed_quarters_.size() && speed >= speed_quarters_[quarter]) ++quarter;
    ++host_by_job_[quarter][c];
}

void Recorder::never_sent(const Result& result, const Workunit& wu) {
    double& oldest = oldest_unsent_[static_cast<std::size_t>(wu.opaque)];
    oldest = std::max(oldest, (now_ - static_cast<double>(result.create_time)) / kHour);
}

void Recorder::reported(const Workunit& wu, double now) {
    const WorkSpec& work = scenario_.work[class_of(wu).work];
    at(work_by_day_[user_.at(work.user)], day(now))[device_of(work)] += real_work(wu);
    if (measured(now) && now < start_ + scenario_.days * kDay) work_in_time_ += real_work(wu);
}

double Recorder::real_work(const Workunit& wu) const {
    return wu.rsc_fpops_est / scenario_.work[class_of(wu).work].estimate;
}

/// A stream of which jobs always wait ought to have some sent all the time.
void Recorder::note_gap(std::size_t work, double now) {
    const WorkSpec& spec = scenario_.work[work];
    if (spec.kind != WorkSpec::Kind::kStream || spec.keep <= 0) return;
    double& last = last_sent_[work];
    const double since = std::max({last, measured_from_, start_ + spec.from_day * kDay});
    longest_gap_[work] = std::max(longest_gap_[work], now - since);
    last = now;
}

void Recorder::lost(double core_seconds, double now) {
    if (measured(now)) wasted_ += core_seconds / kHour;
    at(wasted_by_day_, day(now)) += core_seconds / kHour;
}

void Recorder::needed(const Download& download, double now) {
    if (!measured(now)) return;
    downloads_.bytes += download.bytes;
    downloads_.files += download.files;
    downloads_.there += download.there;
}

void Recorder::decided(const Workunit& wu) {
    decided_at_[wu.id] = now_;
    const bool done = wu.canonical_resultid != 0;
    const bool in_time = done && measured(now_) && now_ < start_ + scenario_.days * kDay;
    done_in_time_ += in_time;
    at(done_in_time_of_, static_cast<std::size_t>(wu.opaque)) += in_time;
    if (done) ++at(done_by_day_, day(now_));
    if (measured(static_cast<double>(wu.create_time))) ++(done ? done_ : errors_);
    if (const auto begun = started_jobs_.find(wu.id); begun != started_jobs_.end()) {
        quorum_hours_.push_back((now_ - begun->second.at) / kHour);
        started_jobs_.erase(begun);
    }
    const auto batch = batch_index_.find(wu.batch);
    if (batch == batch_index_.end()) return;
    BatchRecord& b = batches_[batch->second];
    if (--b.open == 0) b.ended = now_;
}

void Recorder::over(const FinishedJob& job) {
    const bool counts = measured(static_cast<double>(job.workunit.create_time));
    int instances = 0;
    for (const Result* r : job.results) {
        if (r->sent_time == 0) continue;
        ++instances;
        const bool late = (r->outcome == Outcome::kNoReply && r->received_time == 0) ||
                          (r->received_time > 0 && r->report_deadline > 0 && r->received_time > r->report_deadline);
        if (late) ++at(missed_by_day_, day(static_cast<double>(r->report_deadline)));
        missed_ += late && counts;
        const double hours = r->elapsed_time / kHour;
        const bool valid = r->validate_state == ValidateState::kValid;
        if (counts) (valid ? useful_ : wasted_) += hours;
        if (!valid) at(wasted_by_day_, day(now_)) += hours;
        if (!valid || !counts) continue;
        mixed_ += job.workunit.app_version_id > 0 && r->app_version_id != job.workunit.app_version_id;
        ++valid_;
        in_band_ += is_in_band(hours);
    }
    sent_ += counts ? instances : 0;
    finished_ += counts;
    if (job_lines != nullptr)
        *job_lines +=
            fmt::format("{},{},{:.0f},{:.0f},{},{}\n", job.workunit.name, class_of(job.workunit).name,
                        static_cast<double>(job.workunit.create_time) - start_, decided_at_[job.workunit.id] - start_,
                        instances, job.workunit.canonical_resultid != 0 ? "done" : "error");
    decided_at_.erase(job.workunit.id);
}

std::vector<BatchRecord> Recorder::measured_batches() const {
    std::vector<BatchRecord> list;
    for (const BatchRecord& b : batches_)
        if (measured(b.arrived) && b.ended > 0) list.push_back(b);
    return list;
}

/// Of PerDevice.
std::size_t Recorder::device_of(const WorkSpec& work) const { return app_of(scenario_, work).gpu ? 1 : 0; }

/// A stream that keeps jobs waiting has more of them the faster they are taken: to a fluid it is endless.
bool Recorder::is_endless(std::size_t user, std::size_t device, std::size_t day) const {
    const auto d = static_cast<double>(day);
    return std::any_of(scenario_.work.begin(), scenario_.work.end(), [&](const WorkSpec& w) {
        return w.user == scenario_.users[user].name && device_of(w) == device && w.kind == WorkSpec::Kind::kStream &&
               w.keep > 0 && w.from_day < d + 1 && std::min(w.until_day, scenario_.days) > d;
    });
}

/// What users got each day, and what a fluid would have given them that serves them by quota as long as they have work.
void Recorder::fill_shares(FleetResult& r) const {
    const std::size_t users = scenario_.users.size();
    std::size_t days = 0;
    for (const auto& by_day : work_by_day_) days = std::max(days, by_day.size());
    std::vector<PerDevice> backlog(users), waiting(users);
    std::vector<double> surplus(users), quotas;
    for (const UserSpec& user : scenario_.users) quotas.push_back(user.quota);
    std::vector<std::vector<double>> got(users, std::vector<double>(days)), ideal = got;
    const auto value = [](const std::vector<PerDevice>& list, std::size_t d) {
        return d < list.size() ? list[d] : PerDevice{};
    };
    for (std::size_t d = 0; d < days; ++d) {
        PerDevice there{};
        for (std::size_t u = 0; u < users; ++u) {
            const PerDevice fresh = value(new_by_day_[u], d), done = value(work_by_day_[u], d);
            for (const std::size_t x : {0u, 1u}) {
                waiting[u][x] += fresh[x];
                backlog[u][x] = is_endless(u, x, d)         ? kEndless
                                : backlog[u][x] == kEndless ? std::max(waiting[u][x], 0.0)
                                                            : backlog[u][x] + fresh[x];
                there[x] += done[x], got[u][d] += done[x];
                waiting[u][x] -= done[x];
            }
        }
        const double capacity = there[0] + there[1];
        double left = capacity;
        const std::vector<PerDevice> parts = fluid_of(quotas, backlog, there);
        for (std::size_t u = 0; u < users; ++u)
            for (const std::size_t x : {0u, 1u})
                ideal[u][d] += parts[u][x], backlog[u][x] -= parts[u][x], left -= parts[u][x];
        for (std::size_t u = 0; u < users; ++u) surplus[u] = std::max(0.0, got[u][d] - ideal[u][d]);
        const double over = std::accumulate(surplus.begin(), surplus.end(), 0.0);
        // Nobody had work left: the rest were further instances, which the fluid has to serve, too.
        for (std::size_t u = 0; u < users && over > 0; ++u) ideal[u][d] += std::max(0.0, left) * surplus[u] / over;
        for (std::size_t u = 0; u < users && capacity > 0; ++u)
            r.shares_over_time.push_back(
                {static_cast<int>(d), scenario_.users[u].name, got[u][d] / capacity, ideal[u][d] / capacity});
    }
    fill_share_error(r, got, ideal);
}

/// The largest of any user in any 30 days.
void Recorder::fill_share_error(FleetResult& r, const std::vector<std::vector<double>>& got,
                                const std::vector<std::vector<double>>& ideal) const {
    const auto whole = [](double days) { return static_cast<std::size_t>(std::ceil(days)); };
    // After the last day no work comes: what is left of a stream is no longer one.
    const std::size_t users = got.size(), first = whole(scenario_.warmup_days);
    const std::size_t days = users == 0 ? 0 : std::min(got[0].size(), whole(scenario_.days));
    for (std::size_t from = first; from < days; ++from) {
        const std::size_t to = std::min(days, from + kShareWindow);
        if (to - from < kShareWindow && from > first) break;
        std::vector<double> mine(users), should(users);
        double all = 0;
        for (std::size_t d = from; d < to; ++d)
            for (std::size_t u = 0; u < users; ++u) mine[u] += got[u][d], should[u] += ideal[u][d], all += got[u][d];
        for (std::size_t u = 0; u < users && all > 0; ++u)
            r.share_error = std::max(r.share_error, std::abs(mine[u] - should[u]) / all);
    }
}

void Recorder::fill_days(FleetResult& r, double now) const {
    const std::size_t days = day(std::max(start_, now - 1)) + 1;
    r.throughput_by_day = done_by_day_;
    r.deadline_misses_by_day = missed_by_day_;
    r.empty_by_day = empty_by_day_;
    r.wasted_by_day = wasted_by_day_;
    r.throughput_by_day.resize(days);
    r.deadline_misses_by_day.resize(days);
    r.empty_by_day.resize(days);
    r.wasted_by_day.resize(days);
}

/// How often a batch ended within the band that was told of it, and what took how many times of what was expected.
void Recorder::fill_expectations(FleetResult& r) const {
    std::vector<double> ratios;
    double within = 0;
    for (const Expectation& e : expected_) {
        const auto index = batch_index_.find(e.batch);
        if (index == batch_index_.end()) continue;
        const BatchRecord& b = batches_[index->second];
        if (!measured(b.arrived) || b.ended <= 0) continue;
        within += b.ended >= e.band.from && b.ended <= e.band.until;
        ratios.push_back((b.ended - e.said) / std::max(e.end - e.said, 1.0));
    }
    if (ratios.empty()) return;
    std::sort(ratios.begin(), ratios.end());
    const auto quantile = [&](double q) {
        return ratios[static_cast<std::size_t>(q * static_cast<double>(ratios.size() - 1))];
    };
    r.more["eta_in_band"] = within / static_cast<double>(ratios.size());
    r.more["eta_ratio_p10"] = quantile(0.1), r.more["eta_ratio_p50"] = quantile(0.5);
    r.more["eta_ratio_p90"] = quantile(0.9);
}

void Recorder::fill_more(FleetResult& r, double now) const {
    r.more["in_band_sent"] =
        first_sent_ > 0 ? static_cast<double>(sent_in_band_) / static_cast<double>(first_sent_) : 0;
    for (std::size_t c = 0; c < classes_.size(); ++c)
        r.more["oldest_unsent_hours " + classes_[c].name] = oldest_unsent_[c];
    for (std::size_t c = 0; c < done_in_time_of_.size(); ++c)
        r.more["throughput_per_day " + classes_[c].name] =
            static_cast<double>(done_in_time_of_[c]) / (scenario_.days - scenario_.warmup_days);
    r.more["other_versions"] = static_cast<double>(mixed_);
    if (downloads_.files > 0) {
        const double files = downloads_.files;
        r.more["downloaded_mb_per_job"] = downloads_.bytes / 1e6 / files;  // a job has one file
        r.more["file_hits"] = downloads_.there / files;
    }
    fill_expectations(r);
    if (started_jobs_.empty() && quorum_hours_.empty()) return;
    const Distribution hours = spread_of(quorum_hours_);
    r.more["quorum_hours_p50"] = hours.p50, r.more["quorum_hours_p95"] = hours.p95,
    r.more["quorum_hours_max"] = hours.max;
    r.more["quorum_open"] = static_cast<double>(started_jobs_.size());
    r.more["stranded"] =
        static_cast<double>(std::count_if(started_jobs_.begin(), started_jobs_.end(), [now](const auto& job) {
            return now - job.second.at > kStrandedAfter * job.second.delay_bound;
        }));
}

/// What users see of shares: how long their streams stand still, and their batches' times in units of R. R is the run
/// time on the whole project, at its speed of the measured days.
void Recorder::fill_users(FleetResult& r) const {
    double all = 0;
    for (const auto& by_day : work_by_day_)
        for (auto d = static_cast<std::size_t>(r.measured_from_day); d < by_day.size(); ++d)
            all += by_day[d][0] + by_day[d][1];
    for (std::size_t u = 0; u < scenario_.users.size() && all > 0 && scenario_.users.size() > 1; ++u) {
        double mine = 0;
        for (auto d = static_cast<std::size_t>(r.measured_from_day); d < work_by_day_[u].size(); ++d)
            mine += work_by_day_[u][d][0] + work_by_day_[u][d][1];
        r.more["share, " + scenario_.users[u].name] = mine / all;
    }
    for (std::size_t w = 0; w < scenario_.work.size(); ++w) {
        const auto name = [&](const char* figure) {
            return fmt::format("{}, work[{}], {}", figure, w, scenario_.work[w].user);
        };
        if (last_sent_[w] > 0) r.more[name("longest_gap_hours")] = longest_gap_[w] / kHour;
        std::vector<double> sent, done, hours;
        for (const BatchRecord& b : measured_batches()) {
            if (b.work != w) continue;
            hours.push_back((b.ended - b.arrived) / kHour);
            if (work_in_time_ <= 0) continue;
            const double run_time =
                b.jobs * b.mean_flops / work_in_time_ * (scenario_.days - scenario_.warmup_days) * kDay;
            sent.push_back((b.last_sent - b.arrived) / run_time);
            done.push_back((b.ended - b.arrived) / run_time);
        }
        if (hours.empty()) continue;
        const Distribution h = spread_of(std::move(hours));
        r.more[name("makespan_hours_p50")] = h.p50, r.more[name("makespan_hours_max")] = h.max;
        if (sent.empty()) continue;
        const Distribution s = spread_of(std::move(sent)), e = spread_of(std::move(done));
        r.more[name("sent_in_R_p50")] = s.p50, r.more[name("sent_in_R_max")] = s.max;
        r.more[name("done_in_R_p50")] = e.p50, r.more[name("done_in_R_max")] = e.max;
    }
}

FleetResult Recorder::result(std::uint64_t seed, double now) const {
    FleetResult r;
    r.scenario = scenario_.name;
    r.seed = seed;
    r.simulated_seconds = now - start_;
    r.measured_from_day = static_cast<int>(std::ceil(scenario_.warmup_days));
    r.jobs_submitted = submitted_, r.jobs_done = done_, r.jobs_missed = missed_, r.jobs_errors = errors_;
    r.instances_per_job = finished_ > 0 ? static_cast<double>(sent_) / static_cast<double>(finished_) : 0;
    r.wasted_core_hours = wasted_;
    r.useful_core_hours = useful_;
    r.throughput_per_day = static_cast<double>(done_in_time_) / (scenario_.days - scenario_.warmup_days);
    r.requests = requests_, r.work_requests = work_requests_, r.empty_replies = empty_;
    for (const BatchRecord& b : batches_) {
        if (!measured(b.arrived)) continue;
        if (b.ended > 0)
            r.makespans_hours.push_back((b.ended - b.arrived) / kHour);
        else
            ++r.batches_open;
    }
    r.makespan_hours = spread_of(r.makespans_hours);
    r.in_band = valid_ > 0 ? static_cast<double>(in_band_) / static_cast<double>(valid_) : 0;
    for (std::size_t c = 0; c < classes_.size(); ++c) {
        r.waits_by_size_class[classes_[c].name] = spread_of(waits_[c]);
        r.job_classes.push_back(classes_[c].name);
    }
    r.host_classes = {"slowest quarter", "second quarter", "third quarter", "fastest quarter"};
    r.host_class_by_job_class = host_by_job_;
    fill_shares(r);
    fill_users(r);
    fill_more(r, now);
    fill_days(r, now);
    return r;
}

}  // namespace sluice::sim
