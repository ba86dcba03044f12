// SPDX-License-Identifier: LGPL-3.0-or-later
#include <algorithm>
#include <numeric>

#include "sluice/client_policy/policy.h"
#include "src/client_policy/priority.h"

namespace sluice::client {
namespace {

/// A project without a share is asked when an instance is as good as idle. Also the client's least minimum buffer.
constexpr double kNearlyIdle = 180;
/// With more jobs on board, the client asks a project for none.
constexpr std::size_t kManyJobs = 1000;

class WorkFetch {
  public:
    WorkFetch(const State& state, const RoundRobin& forecast) : state_(state), forecast_(forecast) {}

    std::optional<FetchRequest> decide() {
        const std::vector<std::size_t> order = by_priority();
        std::vector<bool> taken(state_.types.size());  // a project with greater priority can be asked for the type
        for (const std::size_t project : order) {
            const std::size_t low = type_that_is_low(project, taken);
            if (low == state_.types.size()) continue;
            FetchRequest request{project, std::vector<TypeRequest>(state_.types.size())};
            for (std::size_t t = 0; t < state_.types.size(); ++t) {
                if (t != low && (taken[t] || !has_room(t) || only_when_idle(project, t))) continue;
                request.types[t] = request_of(project, t);
            }
            if (asks(request)) return request;
            note(project, taken);
        }
        return std::nullopt;
    }

    std::optional<FetchRequest> piggyback(std::size_t project) {
        if (!fetchable(project)) return std::nullopt;
        const std::vector<std::size_t> order = by_priority();
        FetchRequest request{project, std::vector<TypeRequest>(state_.types.size())};
        for (std::size_t t = 0; t < state_.types.size(); ++t) {
            if (!has_room(t) || only_when_idle(project, t)) continue;
            if (state_.rules == Rules::kSeed && backed_off(project, t)) continue;
            const auto better = std::find_if(order.begin(), order.end(), [&](std::size_t other) {
                return other == project || (value_[other] > value_[project] && can_ask(other, t));
            });
            if (better == order.end() || *better == project) request.types[t] = request_of(project, t);
        }
        return asks(request) ? std::optional(request) : std::nullopt;
    }

  private:
    static bool asks(const FetchRequest& request) {
        return std::any_of(request.types.begin(), request.types.end(),
                           [](const TypeRequest& r) { return r.seconds > 0; });
    }

    bool fetchable(std::size_t project) const {
        if (state_.rules == Rules::kSeed) return state_.projects[project].fetchable;
        const auto jobs =
            std::count_if(state_.jobs.begin(), state_.jobs.end(), [&](const Job& j) { return j.project == project; });
        return state_.projects[project].fetchable && static_cast<std::size_t>(jobs) <= kManyJobs;
    }

    /// Fetchable projects, the greatest priority first; work that is queued lowers it by its part of a full buffer.
    std::vector<std::size_t> by_priority() {
        std::vector<bool> can;
        std::vector<std::size_t> order;
        for (std::size_t p = 0; p < state_.projects.size(); ++p) {
            can.push_back(fetchable(p));
            if (can.back()) order.push_back(p);
        }
        const bool all = state_.rules == Rules::kSeed;
        const ProjectPriority priority = all ? ProjectPriority(state_) : ProjectPriority(state_, can);
        value_.assign(state_.projects.size(), 0);
        for (const std::size_t p : order) value_[p] = priority.of(p);
        double processors = 0;
        for (const ProcessorType& t : state_.types) processors += t.instances * t.speed;
        const double full = processors * state_.max_buffer();
        if (full > 0)
            for (const Job& j : state_.jobs)
                value_[j.project] -= j.remaining * (j.instances * state_.types[j.type].speed + j.cpus) / full;
        std::stable_sort(order.begin(), order.end(),
                         [&](std::size_t a, std::size_t b) { return value_[a] > value_[b]; });
        return order;
    }

    /// Saturated for less than this, a type starts a request.
    double min_buffer() const {
        return state_.rules == Rules::kSeed ? state_.work_buf_min : std::max(state_.work_buf_min, kNearlyIdle);
    }

    bool backed_off(std::size_t project, std::size_t type) const {
        const auto& until = state_.projects[project].backoff_until;
        return type < until.size() && until[type] > state_.now;
    }
    bool only_when_idle(std::size_t project, std::size_t type) const {
        return state_.projects[project].resource_share <= 0 &&
               forecast_.types[type].saturated > std::min(state_.work_buf_min, kNearlyIdle);
    }
    bool can_ask(std::size_t project, std::size_t type) const {
        return state_.types[type].instances > 0 && !backed_off(project, type) && !only_when_idle(project, type);
    }
    bool has_room(std::size_t type) const {
        return state_.types[type].instances > 0 && forecast_.types[type].saturated < state_.max_buffer();
    }

    void note(std::size_t project, std::vector<bool>& taken) const {
        for (std::size_t t = 0; t < state_.types.size(); ++t)
            if (can_ask(project, t)) taken[t] = true;
    }

    /// The first type that starts a request to the project; the number of types if none does.
    std::size_t type_that_is_low(std::size_t project, std::vector<bool>& taken) const {
        for (std::size_t t = 0; t < state_.types.size(); ++t)
            if (can_ask(project, t) && forecast_.types[t].saturated < min_buffer()) return t;
        note(project, taken);
        return state_.types.size();
    }

    TypeRequest request_of(std::size_t project, std::size_t type) const {
        const Forecast& f = forecast_.types[type];
        if (state_.projects[project].resource_share <= 0) {
            return {1, f.idle_instances};  // a job for each idle one
        }
        TypeRequest request{f.shortfall, f.idle_instances};
        if (state_.rules == Rules::kClient)
            request.instances = std::max(request.instances, own_instances(project, type));
        if (request.instances > 0 && request.seconds <= 0) request.seconds = 1;
        return request;
    }

    /// The project's part of the instances, among the projects that could be asked for this type, less what its jobs
    /// use.
    double own_instances(std::size_t project, std::size_t type) const {
        double shares = 0, used = 0;
        for (std::size_t p = 0; p < state_.projects.size(); ++p)
            if (state_.projects[p].fetchable && !backed_off(p, type)) shares += state_.projects[p].resource_share;
        // The client keeps the part of a backed-off project at nothing: it is asked for what is idle.
        const double part =
            backed_off(project, type) || shares <= 0 ? 0 : state_.projects[project].resource_share / shares;
        for (const Job& j : state_.jobs) {
            if (j.project != project) continue;
            if (j.type == type)
                used += j.instances;
            else if (state_.types[type].is_cpu)
                used += j.cpus;
        }
        return state_.types[type].instances * part - used;
    }

    const State& state_;
    const RoundRobin& forecast_;
    std::vector<double> value_;  ///< of each fetchable project
};

}  // namespace

std::optional<FetchRequest> work_to_fetch(const State& state, const RoundRobin& forecast) {
    return WorkFetch(state, forecast).decide();
}

std::optional<FetchRequest> work_to_piggyback(const State& state, const RoundRobin& forecast, std::size_t project) {
    return WorkFetch(state, forecast).piggyback(project);
}

}  // namespace sluice::client
