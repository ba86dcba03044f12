#include "daemons/batch_stats/measure.h"

#include <algorithm>
#include <cmath>

namespace sluice {
namespace {

std::uint32_t to_u32(std::int64_t value) {
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(value, 0, UINT32_MAX));
}

JobKind kind_of(const ResultTimes& r) {
    switch (r.outcome) {
        case Outcome::kSuccess:
            return r.validate_state == ValidateState::kInvalid ? JobKind::kInvalid : JobKind::kSuccess;
        case Outcome::kNoReply: return JobKind::kTimedOut;
        case Outcome::kClientError:
            // What the project itself aborted says nothing of the host.
            return r.exit_status == kExitAbortedByProject ? JobKind::kIgnored : JobKind::kFailed;
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

std::uint64_t key_of(std::uint32_t host, std::int32_t version) {
    return (std::uint64_t{host} << 32) | static_cast<std::uint32_t>(version);
}

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
        count(hosts_[o.host]);
        if (rules_.per_version && o.version > 0) count(versions_[key_of(o.host, o.version)]);
        if (o.kind == JobKind::kSuccess || (o.kind == JobKind::kInvalid && !rules_.count_errors))
            completed.insert(o.host);
    }
}

bool Scores::is_verdict(const Score& s) const {
    return s.weight > 0 && s.jobs >= static_cast<std::uint32_t>(std::max(1, rules_.min_jobs));
}

bool Scores::is_ltt(const Score& s) const { return is_verdict(s) && s.mean() < rules_.ltt_below; }

std::vector<Id> Scores::ltt_hosts() const {
    std::vector<Id> hosts;
    for (const auto& [host, score] : hosts_)
        if (is_ltt(score)) hosts.push_back(host);
    std::sort(hosts.begin(), hosts.end());
    return hosts;
}

std::vector<VersionTurnaround> Scores::versions() const {
    std::vector<VersionTurnaround> rows;
    rows.reserve(versions_.size());
    for (const auto& [key, score] : versions_) {
        if (!is_verdict(score)) continue;
        rows.push_back({static_cast<Id>(key >> 32), static_cast<std::int32_t>(key & 0xffffffffu), is_ltt(score),
                        score.mean(), static_cast<int>(score.jobs)});
    }
    std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
        return std::pair(a.host_id, a.version) < std::pair(b.host_id, b.version);
    });
    return rows;
}

std::vector<Scores::AppVerdict> Scores::apps() const {
    std::vector<AppVerdict> verdicts;
    for (const auto& [app, hosts] : completed_) {
        AppVerdict v{app, static_cast<int>(hosts.size()), 0, false};
        for (const std::uint32_t host : hosts) v.ltt_hosts += is_ltt(hosts_.at(host)) ? 1 : 0;
        v.accelerable = v.hosts > rules_.min_hosts && v.ltt_hosts > v.hosts * rules_.min_ltt_frac;
        verdicts.push_back(v);
    }
    return verdicts;
}

}  // namespace sluice
