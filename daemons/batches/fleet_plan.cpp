// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batches/fleet_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

namespace sluice {
namespace {

/// Jobs of one processor: more than any plan needs, and exact as a double, also times the processors of a host.
constexpr std::int64_t kMany = 1'000'000'000'000;

/// When a processor ends its `nth` job. The one formula that all else agrees with.
double end_of(const PlanHost& h, double nth) { return h.delay + nth * h.job_seconds; }

/// Jobs that one processor of `h` has ended by `t`, at most `limit`.
std::int64_t ended(const PlanHost& h, double t, std::int64_t limit) {
    double n = std::clamp(std::floor((t - h.delay) / h.job_seconds), 0.0, static_cast<double>(limit));
    // The division may be off by its rounding.
    if (n > 0 && end_of(h, n) > t) n -= 1;
    if (n < static_cast<double>(limit) && end_of(h, n + 1) <= t) n += 1;
    return static_cast<std::int64_t>(n);
}

std::int64_t done_by(const PlanHost& h, double t, std::int64_t jobs) {
    const std::int64_t each = ended(h, t, jobs);
    return each > jobs / h.cpus ? jobs : each * h.cpus;
}

/// Counts until `jobs` is reached.
std::int64_t done_by(const std::vector<PlanHost>& hosts, double t, std::int64_t jobs) {
    std::int64_t sum = 0;
    for (const PlanHost& h : hosts) {
        if (h.delay >= t) continue;
        sum += done_by(h, t, jobs);
        if (sum >= jobs) return jobs;
    }
    return sum;
}

struct JobEnd {
    double time;
    std::int64_t jobs;
};

/// Are there less than `few` moments between `low` (not it) and `high` at which the processors of a host end jobs?
bool few_between(const std::vector<PlanHost>& hosts, double low, double high, std::int64_t few) {
    std::int64_t moments = 0;
    for (const PlanHost& h : hosts) {
        if (h.delay >= high) continue;
        moments += ended(h, high, kMany) - ended(h, low, kMany);
        if (moments >= few) return false;
    }
    return true;
}

/// What ends after `low` and not after `high`, in order of time.
std::vector<JobEnd> ends_between(const std::vector<PlanHost>& hosts, double low, double high) {
    std::vector<JobEnd> ends;
    for (const PlanHost& h : hosts) {
        if (h.delay >= high) continue;
        for (double n = static_cast<double>(ended(h, low, kMany)) + 1; end_of(h, n) <= high; ++n)
            if (end_of(h, n) > low) ends.push_back({end_of(h, n), h.cpus});
    }
    std::sort(ends.begin(), ends.end(), [](const JobEnd& a, const JobEnd& b) { return a.time < b.time; });
    return ends;
}

/// The least time by which `jobs` are done.
double least_finish(const std::vector<PlanHost>& hosts, std::int64_t jobs) {
    double low = 0, high = std::numeric_limits<double>::infinity();
    for (const PlanHost& h : hosts)
        high = std::min(high, end_of(h, std::ceil(static_cast<double>(jobs) / static_cast<double>(h.cpus))));
    // Halve until few ends of jobs remain between the two, then count those; where many end at one moment, until the
    // two are neighbours.
    const auto few = static_cast<std::int64_t>(hosts.size() / 8 + 64);
    while (!few_between(hosts, low, high, few)) {
        const double middle = low + (high - low) / 2;
        if (!(middle > low && middle < high)) break;
        (done_by(hosts, middle, jobs) >= jobs ? high : low) = middle;
    }
    std::int64_t left = jobs - done_by(hosts, low, jobs);
    for (const JobEnd& e : ends_between(hosts, low, high))
        if ((left -= std::min(left, e.jobs)) == 0) return e.time;
    return high;
}

}  // namespace

FleetPlan plan_fleet(const std::vector<PlanHost>& hosts, std::int64_t jobs, std::size_t min_hosts) {
    FleetPlan plan;
    plan.jobs.resize(hosts.size());
    if (hosts.empty() && jobs > 0) return plan;
    plan.possible = true;
    if (jobs > 0) plan.finish = least_finish(hosts, jobs);
    if (min_hosts > 0 && !hosts.empty()) {
        std::vector<double> first(hosts.size());
        std::transform(hosts.begin(), hosts.end(), first.begin(), [](const PlanHost& h) { return end_of(h, 1); });
        const auto nth = first.begin() + static_cast<std::ptrdiff_t>(std::min(min_hosts, hosts.size()) - 1);
        std::nth_element(first.begin(), nth, first.end());
        plan.finish = std::max(plan.finish, *nth);
    }
    std::transform(hosts.begin(), hosts.end(), plan.jobs.begin(),
                   [&](const PlanHost& h) { return ended(h, plan.finish, kMany) * h.cpus; });
    return plan;
}

using Json = nlohmann::ordered_json;

std::string plan_document(const json::Object& document) {
    document.only({"hosts", "jobs", "min_hosts"});
    std::vector<PlanHost> hosts;
    std::vector<std::string> ids;
    std::set<std::string> seen;
    for (const json::Object& h : document.objects("hosts")) {
        h.only({"id", "cpus", "delay", "job_seconds"});
        hosts.push_back(
            {h.whole("cpus", 1, 1'000'000), h.number("delay", {0, 1e12}), h.number("job_seconds", {1e-6, 1e12})});
        ids.push_back(h.scalar("id"));
        if (!seen.insert(ids.back()).second) throw json::InputError(h.place("id"), ids.back() + " stands twice");
    }
    const auto jobs = document.whole("jobs", 0, 1'000'000'000'000);
    const auto min_hosts = document.has("min_hosts") ? document.whole("min_hosts", 0, 1'000'000'000) : 0;
    const FleetPlan plan = plan_fleet(hosts, jobs, static_cast<std::size_t>(min_hosts));
    Json chosen = Json::array();
    for (std::size_t i = 0; i < hosts.size(); ++i)
        if (plan.jobs[i] > 0) chosen.push_back({{"id", Json::parse(ids[i])}, {"jobs", plan.jobs[i]}});
    return Json{{"T", plan.possible ? Json(plan.finish) : Json()}, {"hosts", std::move(chosen)}}.dump(2) + "\n";
}

}  // namespace sluice
