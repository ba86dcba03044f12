// SPDX-License-Identifier: LGPL-3.0-or-later
// batch_planner --explain: T of a batch, and which hosts are in H or why not.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "daemons/batches/planner.h"
#include "daemons/batches/planner_facts.h"
#include "sluice/base/error.h"

namespace sluice {
namespace {

constexpr std::size_t kHostsShown = 10;

/// "4 CPUs", "8 CPUs (4 a job)", "1 NVIDIA GPU".
std::string devices_text(const FleetCapacity& fleet, std::size_t pool, Id app) {
    const auto of_app = fleet.threads.find(app);
    const bool cpu = fleet.types[pool] == ProcType::kCpu;
    const float each = cpu && of_app != fleet.threads.end() ? of_app->second[pool] : 1;
    return fmt::format("{} {}{}{}", fleet.cpus[pool], proc_type_user_name(fleet.types[pool]),
                       fleet.cpus[pool] == 1 && !cpu ? "" : "s", each > 1 ? fmt::format(" ({:g} a job)", each) : "");
}

std::string hosts_text(const FleetCapacity& fleet, const BatchDemand& demand, const PlanRules& rules, double finish) {
    struct Line {
        std::int64_t jobs;
        std::size_t pool;
        double seconds;
    };
    std::vector<Line> in;
    std::set<Id> useful, able;
    for (std::size_t p = 0; p < fleet.size(); ++p) {
        if (fleet.at_once(p, demand.app) == 0) continue;
        able.insert(fleet.ids[p]);
        const double seconds =
            rules.margin * planned_run_time(fleet.computing(p, demand.app, demand.mean_fpops), fleet.availability[p]);
        const std::int64_t jobs = jobs_by(fleet, p, demand.app, seconds, finish);
        if (jobs == 0) continue;
        in.push_back({jobs, p, seconds});
        useful.insert(fleet.ids[p]);
    }
    std::string text = fmt::format("H: {} of {} hosts; {} can't be done with a job by then\n", useful.size(),
                                   able.size(), able.size() - useful.size());
    if (able.size() < fleet.hosts())
        text += fmt::format("{} more hosts lack the devices that the versions of app {} take\n",
                            fleet.hosts() - able.size(), demand.app);
    std::sort(in.begin(), in.end(),
              [&](const Line& a, const Line& b) { return a.jobs != b.jobs ? a.jobs > b.jobs : a.pool < b.pool; });
    for (std::size_t i = 0; i < std::min(in.size(), kHostsShown); ++i)
        text += fmt::format("  host {}: can start in {:.0f} s, {:.0f} s a job, {}: {} jobs by T\n",
                            fleet.ids[in[i].pool], fleet.free_at[in[i].pool], in[i].seconds,
                            devices_text(fleet, in[i].pool, demand.app), in[i].jobs);
    return text;
}

}  // namespace

std::string BatchPlanner::copies_text(const std::vector<Batch>& batches, Id batch) {
    const auto made = std::ssize(stores_.plans.copied(std::span(&batch, 1)));
    if (made == 0 && !(settings_.copies > 0)) return "";
    const auto row = std::find_if(batches.begin(), batches.end(), [&](const Batch& b) { return b.id == batch; });
    return fmt::format("copies of its last jobs: {} so far, {} more at most\n", made,
                       row == batches.end() ? 0 : copies_left(settings_.copies, row->njobs, made));
}

std::string BatchPlanner::explain(Id batch) {
    Facts facts(memory_, clock_.now());
    read(facts);
    const auto at =
        std::find_if(facts.demands.begin(), facts.demands.end(), [&](const auto& d) { return d.batch == batch; });
    if (Facts::find(facts.of_gangs, batch) != nullptr)
        throw ConfigError(fmt::format(
            "batch {}: its jobs are gangs: gang_planner --dry_run says what each of them waits for", batch));
    if (at == facts.demands.end())
        throw ConfigError(fmt::format("batch {} is not in progress, or all of its jobs are done", batch));
    FleetCapacity& fleet = facts.reader.fleet;
    plan_batches(fleet, {facts.demands.begin(), at}, settings_.rules);
    const FleetCapacity left = fleet;  // what the batches before it leave
    const BatchTarget target = plan_batches(fleet, {*at}, settings_.rules).front();
    std::string text = fmt::format(
        "batch {}: number {} of {} in the order of batches\n{} jobs to be sent, of {:.4g} operations each\n", batch,
        at - facts.demands.begin() + 1, facts.demands.size(), at->jobs, at->mean_fpops);
    if (!target.planned)
        return text + (left.size() == 0
                           ? "not planned: no host was heard of lately\n"
                           : fmt::format("not planned: it takes longer than {:.0f} s, so its jobs go to any host\n",
                                         settings_.rules.horizon));
    text += fmt::format("T: in {:.0f} s, at UNIX time {:.0f}\n", target.finish, facts.now + target.finish);
    text += copies_text(facts.batches, batch);
    for (const LeftOutHost& h : facts.left_out)
        text += fmt::format("  host {} is left out: {} of its {} jobs failed\n", h.host, h.errors, h.returned);
    return text + hosts_text(left, *at, settings_.rules, target.finish);
}

}  // namespace sluice
