// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batches/planner_memory.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <tuple>
#include <utility>

namespace sluice {
namespace {

/// Of a pool's jobs in their order, the last that must end before this one has its devices; null: it has them.
const HostQueues::Held* in_the_way_of(std::span<const HostQueues::Held> jobs, std::size_t place) {
    constexpr double kRounding = 1e-9;
    const auto part = [&](std::size_t i) { return 1.0 / std::max(jobs[i].at_once, 1); };
    double taken = part(place);
    for (std::size_t i = place; i > 0; --i)
        if ((taken += part(i - 1)) > 1 + kRounding) return &jobs[i - 1];
    return nullptr;
}

}  // namespace

void HostQueues::note(std::vector<Held> held, double now) {
    std::sort(held.begin(), held.end(), [](const Held& a, const Held& b) {
        return std::tuple(a.pool, a.sent, a.result) < std::tuple(b.pool, b.sent, b.result);
    });
    std::unordered_map<Id, Pool> before = std::exchange(pools_, {});
    jobs_.clear();
    for (auto first = held.begin(); first != held.end();) {
        const auto end = std::find_if(first, held.end(), [&](const Held& h) { return h.pool != first->pool; });
        Pool& pool = pools_[first->pool];
        for (auto h = first; h != end; ++h) pool.jobs.push_back(h->result);
        std::sort(pool.jobs.begin(), pool.jobs.end());
        if (const auto known = before.find(first->pool); known != before.end()) {
            const Pool& b = known->second;
            pool.queue = b.queue, pool.progress = b.progress;
            const auto gone = [&](Id result) {
                return !std::binary_search(pool.jobs.begin(), pool.jobs.end(), result);
            };
            if (b.queue && std::any_of(b.jobs.begin(), b.jobs.end(), gone)) pool.progress = now;
        }
        if (in_the_way_of({first, end}, pool.jobs.size() - 1) != nullptr) {
            if (first_pass_) pool.progress = now;  // who knows since when
            pool.queue = true;
        }
        for (auto h = first; h != end; ++h) {
            const Held* const ahead = in_the_way_of({first, end}, static_cast<std::size_t>(h - first));
            Job& job = jobs_[h->result];
            job.pool = h->pool;
            job.runs = ahead == nullptr;
            job.start = job.runs ? std::max(h->sent, pool.progress)
                                 : std::max(now, jobs_[ahead->result].start + ahead->run_time);
        }
        first = end;
    }
    first_pass_ = false;
}

namespace {

constexpr std::size_t kPriorRuns = 5;    ///< weight of what was known before
constexpr std::size_t kMostJobs = 50;    ///< the last ones: what is expected of a host changes, too
constexpr double kLeastRun = 1;          ///< s
constexpr double kMostTimes = 100;       ///< what a client tells is bounded
constexpr std::size_t kMostGone = 5000;  ///< that are waited for, the newest

void add(std::vector<float>& ratios, double times) {
    if (ratios.size() >= kMostJobs) ratios.erase(ratios.begin());
    ratios.push_back(static_cast<float>(times));
}

}  // namespace

std::vector<Id> RunTimeRatios::gone(std::vector<Id> in_progress) {
    std::sort(in_progress.begin(), in_progress.end());
    std::vector<Id> ids;
    for (const auto& [result, w] : watched_)
        if (!std::binary_search(in_progress.begin(), in_progress.end(), result)) ids.push_back(result);
    // Some never come back.
    const std::size_t old = ids.size() - std::min(ids.size(), kMostGone);
    for (std::size_t i = 0; i < old; ++i) watched_.erase(ids[i]);
    ids.erase(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(old));
    return ids;
}

void RunTimeRatios::returned(const ReturnedBatchResult& result, const std::map<Id, Id>& users) {
    const auto known = watched_.find(result.id);
    if (known == watched_.end()) return;
    const auto [batch, per_op] = known->second;
    watched_.erase(known);
    const auto user = users.find(batch);
    // By its own estimate: of a batch of short and long jobs the short ones come back first.
    const double expected = std::max(per_op * result.fpops, kLeastRun);
    if (!(result.elapsed > 0) || !std::isfinite(expected) || user == users.end()) return;
    const double times = std::clamp(result.elapsed / expected, 1 / kMostTimes, kMostTimes);
    for (Ratios* ratios : {&of_batch_[batch], &of_user_[user->second]}) add(*ratios, times);
}

void RunTimeRatios::start(Id batch, Id user, double ratio) {
    if (!(ratio >= 1 / kMostTimes && ratio <= kMostTimes)) return;
    for (Ratios* ratios : {&of_batch_[batch], &of_user_[user]})
        for (std::size_t i = 0; i <= 2 * kPriorRuns; ++i) add(*ratios, ratio);
}

void RunTimeRatios::keep(const std::set<Id>& batches) {
    std::erase_if(watched_, [&](const auto& w) { return !batches.contains(w.second.batch); });
    std::erase_if(of_batch_, [&](const auto& b) { return !batches.contains(b.first); });
}

double RunTimeRatios::ratio(const Ratios& ratios, double before) {
    Ratios all(kPriorRuns, static_cast<float>(before));
    all.insert(all.end(), ratios.begin(), ratios.end());
    const auto middle = all.begin() + std::ssize(all) / 2;
    std::nth_element(all.begin(), middle, all.end());
    return *middle;
}

double RunTimeRatios::of(Id batch, Id user) const {
    const auto owner = of_user_.find(user);
    const double owners = owner == of_user_.end() ? 1 : ratio(owner->second, 1);
    const auto own = of_batch_.find(batch);
    return own == of_batch_.end() ? owners : ratio(own->second, owners);
}

namespace {

constexpr std::size_t kMostSaid = 64;      ///< of a batch
constexpr std::size_t kMostBatches = 200;  ///< that are remembered
constexpr double kStoredWeight = 5;        ///< batches
constexpr double kMoment = 60;             ///< s
constexpr double kTail = 0.05;             ///< outside on each side: a tenth, and some for what is learnt from few
constexpr double kLeastFactor = 0.01, kMostFactor = 100;

/// Between what was stored and what `batches` batches say; factors are multiplied, so their logarithms are averaged.
double blend(double stored, double learnt, double batches) {
    const double from = kStoredWeight * std::log(std::clamp(stored, kLeastFactor, kMostFactor));
    return std::exp((from + batches * std::log(std::clamp(learnt, kLeastFactor, kMostFactor))) /
                    (kStoredWeight + batches));
}

}  // namespace

void EtaRecord::expect(Id batch, double now, double end) {
    if (end - now < kMoment) return;
    Open& o = open_[batch];
    if (o.passes++ % o.every != 0) return;
    o.said.push_back({now, end});
    if (o.said.size() < kMostSaid) return;
    for (std::size_t i = 0; 2 * i < o.said.size(); ++i) o.said[i] = o.said[2 * i];
    o.said.resize(kMostSaid / 2);
    o.every *= 2;
}

std::vector<Id> EtaRecord::open() const {
    std::vector<Id> ids;
    for (const auto& [id, o] : open_) ids.push_back(id);
    return ids;
}

void EtaRecord::ended(Id batch, double at) {
    const auto known = open_.find(batch);
    if (known == open_.end()) return;
    std::vector<Ratio> ratios;
    for (const Said& s : known->second.said)
        if (at > s.at) ratios.push_back({(at - s.at) / std::max(s.end - s.at, 1.0), double(known->second.every)});
    open_.erase(known);
    if (ratios.empty()) return;
    done_.push_back(std::move(ratios));
    if (done_.size() > kMostBatches) done_.pop_front();
}

EtaFactors EtaRecord::factors() const {
    std::vector<Ratio> all;
    double weight = 0;
    for (const auto& batch : done_)
        for (const Ratio& r : batch) all.push_back(r), weight += r.weight;
    if (all.empty()) return stored_;
    std::sort(all.begin(), all.end(), [](const Ratio& a, const Ratio& b) { return a.times < b.times; });
    const auto quantile = [&](double part) {
        double sum = 0;
        for (const Ratio& r : all)
            if ((sum += r.weight) >= part * weight) return r.times;
        return all.back().times;
    };
    const auto batches = static_cast<double>(done_.size());
    return {blend(stored_.least, quantile(kTail), batches), blend(stored_.most, quantile(1 - kTail), batches)};
}

namespace {

constexpr int kRequests = 4;           ///< without a job
constexpr double kStuck = 1800;        ///< s for which no job of a batch is sent though some wait
constexpr double kRemembered = 21600;  ///< s
constexpr double kPublished = 60;      ///< s until schedulers know a plan

}  // namespace

std::vector<bool> UnresponsiveHosts::take_none(Id app, const FleetCapacity& fleet, const AppFacts& facts) {
    App& a = apps_[app];
    std::vector<bool> none(fleet.size());
    for (std::size_t i = 0; i < fleet.size(); ++i) {
        const Id key = pool_key(fleet.ids[i], fleet.types[i]);
        const auto at = a.pools.find(key);
        if (at == a.pools.end()) continue;
        Pool& p = at->second;
        if (p.counted < a.look) p.since = 0;
        if (facts.holders.contains(key)) p = {};
        if (p.since > 0 && static_cast<double>(facts.heard_of[i]) > p.since + kPublished)
            ++p.missed, p.missed_at = facts.now, p.since = 0;
        if (facts.now - p.missed_at > kRemembered) p.missed = 0;
        none[i] = p.missed >= kRequests;
    }
    a.look = facts.now;
    if (facts.waited > kStuck) a.stuck = facts.now;
    return facts.now - a.stuck > kRemembered ? std::vector<bool>{} : none;
}

void UnresponsiveHosts::count_on(Id app, Id pool, double now) {
    Pool& p = apps_[app].pools[pool];
    if (p.since <= 0) p.since = now;
    p.counted = now;
}

}  // namespace sluice
