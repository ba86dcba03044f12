// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batches/turnaround_scores.h"

#include <algorithm>
#include <cmath>

namespace sluice {
namespace {

std::uint32_t to_u32(std::int64_t value) {
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(value, 0, UINT32_MAX));
}

JobKind kind_of(const ResultTimes& r) {
    // What the project itself aborted, or what could not be started in time, says nothing of the host.
    const bool not_run = r.exit_status == kExitAbortedByProject || r.exit_status == kExitUnstartedLate;
    switch (r.outcome) {
        case Outcome::kSuccess:
            return r.validate_state == ValidateState::kInvalid ? JobKind::kInvalid : JobKind::kSuccess;
        case Outcome::kNoReply: return not_run ? JobKind::kIgnored : JobKind::kTimedOut;
        case Outcome::kClientError: return not_run ? JobKind::kIgnored : JobKind::kFailed;
        case Outcome::kValidateError:
        case Outcome::kClientDetached: return JobKind::kFailed;
        case Outcome::kCouldntSend:
        case Outcome::kDidntNeed: return JobKind::kIgnored;
        case Outcome::kInit: break;
    }
    if (r.server_state == ServerState::kInProgress) return JobKind::kInProgress;
    return r.server_state == ServerState::kOver ? JobKind::kIgnored : JobKind::kWaiting;
}

int distinct(std::vector<Id>& ids) {
    std::sort(ids.begin(), ids.end());
    return static_cast<int>(std::unique(ids.begin(), ids.end()) - ids.begin());
}

/// Ids that follow one another land far apart (Knuth's multiplicative hash).
std::size_t spread(std::uint32_t host) { return (std::uint64_t{host} * 0x9E3779B97F4A7C15u) >> 32; }

}  // namespace

StatsRules stats_rules(int compat_level) {
    StatsRules rules;
    if (compat_level <= 0) return rules;
    rules.max_age = 90 * 86400.0;
    rules.min_success = 10;
    rules.min_success_frac = 0.5;
    rules.min_jobs = 3;
    rules.half_life = 30 * 86400.0;
    rules.count_errors = rules.count_in_progress = rules.per_version = true;
    return rules;
}

Observation observe(const ResultTimes& r) {
    Observation o;
    o.result = r.id;
    o.workunit = r.workunitid;
    o.host = to_u32(r.hostid);
    o.version = static_cast<std::int32_t>(std::clamp<std::int64_t>(r.version, INT32_MIN, INT32_MAX));
    o.sent = to_u32(r.sent_time);
    o.kind = kind_of(r);
    o.ended = to_u32(o.kind == JobKind::kTimedOut ? r.report_deadline : r.received_time);
    return o;
}

BatchMeasure measure(std::span<const Observation> observations, const MeasuredBatch& batch, const StatsRules& rules) {
    BatchMeasure m;
    std::vector<double> times;
    std::vector<Id> jobs, done;
    for (const Observation& o : observations) {
        const bool success = o.kind == JobKind::kSuccess || (o.kind == JobKind::kInvalid && !rules.count_errors);
        if (success) times.push_back(o.turnaround());
        if (rules.min_success_frac <= 0) continue;
        jobs.push_back(o.workunit);
        if (success) done.push_back(o.workunit);
    }
    m.success = static_cast<int>(times.size());
    m.jobs = std::max(batch.njobs, distinct(jobs));
    if (times.empty() || m.success < rules.min_success) return m;
    if (rules.min_success_frac > 0 && distinct(done) < rules.min_success_frac * m.jobs) return m;
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    if (*middle > 0) m.median = *middle;
    return m;
}

std::optional<double> Scores::ratio(const Observation& o, double median) const {
    switch (o.kind) {
        case JobKind::kInvalid:
            if (rules_.count_errors) return rules_.fail_ratio;
            [[fallthrough]];
        case JobKind::kSuccess: return o.turnaround() / median;
        case JobKind::kTimedOut: return rules_.fail_ratio;
        case JobKind::kFailed: return rules_.count_errors ? std::optional(rules_.fail_ratio) : std::nullopt;
        case JobKind::kInProgress: {
            // Its turnaround will be this long at least: no news while that is less than the median, bad news after.
            const double age = static_cast<double>(now_) - o.sent;
            if (!rules_.count_in_progress || o.sent == 0 || age < median) return std::nullopt;
            return std::min(age / median, rules_.fail_ratio);
        }
        case JobKind::kWaiting:
        case JobKind::kIgnored: break;
    }
    return std::nullopt;
}

double Scores::weight(const Observation& o) const {
    if (rules_.half_life <= 0 || o.kind == JobKind::kInProgress) return 1;
    return std::exp2(-std::max(0.0, static_cast<double>(now_) - o.ended) / rules_.half_life);
}

void Scores::make_room() {
    if (2 * (hosts_.size() + 1) <= index_.size()) return;
    index_.assign(std::max<std::size_t>(1024, 2 * index_.size()), 0);
    for (std::uint32_t place = 0; place < hosts_.size(); ++place) index_[slot_of(hosts_[place].host)] = place + 1;
}

std::size_t Scores::slot_of(std::uint32_t host) const {
    const std::size_t mask = index_.size() - 1;
    std::size_t i = spread(host) & mask;
    while (index_[i] != 0 && hosts_[index_[i] - 1].host != host) i = (i + 1) & mask;
    return i;
}

std::uint32_t Scores::place_of(std::uint32_t host) {
    make_room();
    std::uint32_t& entry = index_[slot_of(host)];
    if (entry == 0) {
        hosts_.push_back({host, kNone, {}});
        entry = static_cast<std::uint32_t>(hosts_.size());
    }
    return entry - 1;
}

Scores::Score& Scores::score_of(HostScore& host, std::int32_t version) {
    for (std::uint32_t v = host.first_version; v != kNone; v = versions_[v].next)
        if (versions_[v].version == version) return versions_[v].score;
    versions_.push_back({version, host.first_version, {}});
    host.first_version = static_cast<std::uint32_t>(versions_.size() - 1);
    return versions_.back().score;
}

void Scores::add(std::span<const Observation> observations, const MeasuredBatch& batch, const BatchMeasure& m) {
    if (!m.median) return;
    auto& completed = completed_[batch.app_id];
    for (const Observation& o : observations) {
        if (o.host == 0) continue;
        const auto r = ratio(o, *m.median);
        if (!r) continue;
        const double w = weight(o);
        const auto count = [&](Score& s) {
            s.sum += w * *r;
            s.weight += w;
            ++s.jobs;
        };
        const std::uint32_t place = place_of(o.host);
        HostScore& host = hosts_[place];
        count(host.score);
        if (rules_.per_version && o.version > 0) count(score_of(host, o.version));
        if (o.kind == JobKind::kSuccess || (o.kind == JobKind::kInvalid && !rules_.count_errors)) {
            if (completed.size() <= place) completed.resize(std::max<std::size_t>(hosts_.size(), 2 * completed.size()));
            completed[place] = true;
        }
    }
}

bool Scores::is_verdict(const Score& s) const {
    return s.weight > 0 && s.jobs >= static_cast<std::uint32_t>(std::max(1, rules_.min_jobs));
}

bool Scores::is_ltt(const Score& s) const { return is_verdict(s) && s.mean() < rules_.ltt_below; }

std::vector<Id> Scores::ltt_hosts() const {
    std::vector<Id> hosts;
    for (const HostScore& h : hosts_)
        if (is_ltt(h.score)) hosts.push_back(h.host);
    std::sort(hosts.begin(), hosts.end());
    return hosts;
}

std::vector<VersionTurnaround> Scores::versions() const {
    std::vector<VersionTurnaround> rows;
    rows.reserve(versions_.size());
    for (const HostScore& h : hosts_)
        for (std::uint32_t i = h.first_version; i != kNone; i = versions_[i].next) {
            const VersionScore& v = versions_[i];
            if (is_verdict(v.score))
                rows.push_back({h.host, v.version, is_ltt(v.score), v.score.mean(), static_cast<int>(v.score.jobs)});
        }
    std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
        return std::pair(a.host_id, a.version) < std::pair(b.host_id, b.version);
    });
    return rows;
}

std::vector<Scores::AppVerdict> Scores::apps() const {
    std::vector<AppVerdict> verdicts;
    for (const auto& [app, places] : completed_) {
        AppVerdict v{app, 0, 0, false};
        for (std::size_t place = 0; place < places.size(); ++place) {
            if (!places[place]) continue;
            ++v.hosts;
            v.ltt_hosts += is_ltt(hosts_[place].score) ? 1 : 0;
        }
        v.accelerable = v.hosts > rules_.min_hosts && v.ltt_hosts > v.hosts * rules_.min_ltt_frac;
        verdicts.push_back(v);
    }
    return verdicts;
}

}  // namespace sluice
