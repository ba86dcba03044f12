// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batches/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <unordered_map>

#include "daemons/batches/planner_facts.h"
#include "sluice/base/log.h"
#include "sluice/daemon/daemon.h"

namespace sluice {

std::int64_t copies_left(double part, int jobs, std::int64_t made) {
    return std::max<std::int64_t>(0, static_cast<std::int64_t>(std::floor(part * std::max(jobs, 0) + 1e-9)) - made);
}

std::vector<OpenBatchResult> instances_to_copy(std::vector<LastInstance> last, double another, std::int64_t most) {
    std::erase_if(last, [&](const LastInstance& i) { return !(i.end > another); });
    std::sort(last.begin(), last.end(), [](const LastInstance& a, const LastInstance& b) {
        return std::tuple(-a.end, a.result.sent_time, a.result.id) <
               std::tuple(-b.end, b.result.sent_time, b.result.id);
    });
    std::vector<OpenBatchResult> chosen;
    std::set<Id> jobs;
    for (const LastInstance& i : last)
        if (static_cast<std::int64_t>(chosen.size()) < most && jobs.insert(i.result.workunit).second)
            chosen.push_back(i.result);
    return chosen;
}

namespace {

constexpr double kEndless = 1e300;  ///< operations: more than any host does by any horizon

bool fails_too_often(const LeftOutHost& h) { return h.errors > 2 + 0.1 * h.returned; }

}  // namespace

BatchPlanner::BatchPlanner(const PlannerSettings& settings, const PlannerStores& stores, const PlanClasses& classes,
                           const Clock& clock)
    : settings_(settings), stores_(stores), classes_(classes), clock_(clock) {}

namespace {

/// First the batch with the least logical end time (or the oldest); without one a batch comes last.
void put_in_order(std::vector<Batch>& batches, bool by_logical_end_time) {
    const auto key = [&](const Batch& b) {
        const double let = b.logical_end_time > 0 ? b.logical_end_time : HUGE_VAL;
        return std::tuple(by_logical_end_time ? let : 0, b.create_time, b.id);
    };
    std::sort(batches.begin(), batches.end(), [&](const Batch& a, const Batch& b) { return key(a) < key(b); });
}

/// s: a batch of which no job was sent for so long waits for no host that there is.
constexpr double kTaken = 6 * 3600;

struct WaitingBatch {
    std::int64_t unsent = 0, open = 0;
    double oldest = HUGE_VAL, last_sent = 0;
};

}  // namespace

void BatchPlanner::read(Facts& facts) {
    facts.newest = stores_.facts.newest();  // before anything else: what comes later is newer
    facts.batches = stores_.batches.in_progress(clock_.now_sec());
    put_in_order(facts.batches, settings_.by_logical_end_time);
    const std::vector<Id> ids = facts.ids();
    if (ids.empty()) return;
    facts.left_out = stores_.facts.failing_hosts(ids);
    std::erase_if(facts.left_out, [](const LeftOutHost& h) { return !fails_too_often(h); });
    std::map<Id, WaitingBatch> waiting;
    stores_.facts.open_results(ids, [&](const OpenBatchResult& r) {
        WaitingBatch& w = waiting[r.batch];
        ++w.open;
        if (r.state == ServerState::kInProgress) {
            facts.in_progress.push_back(r);
            w.last_sent = std::max(w.last_sent, facts.sent(r));
        } else {
            ++w.unsent;
            w.oldest = std::min(w.oldest, static_cast<double>(r.create_time));
        }
    });
    const std::vector<BatchDemandRow> rows = stores_.facts.demands(ids);
    const std::vector<Id> gangs = stores_.facts.gang_batches(ids);
    for (const Batch& b : facts.batches) {
        const auto row = std::lower_bound(rows.begin(), rows.end(), b.id,
                                          [](const BatchDemandRow& r, Id id) { return r.batch < id; });
        if (row == rows.end() || row->batch != b.id) continue;
        const WaitingBatch& w = waiting[b.id];
        BatchDemand d{b.id, row->app, w.unsent + std::max<std::int64_t>(0, row->open - w.open), row->mean_fpops, 0};
        if (!std::isfinite(d.mean_fpops)) d.mean_fpops = kEndless;
        if (w.unsent > 0) d.waited = std::max(0.0, facts.now - std::max(w.oldest, w.last_sent));
        const bool is_gang = std::find(gangs.begin(), gangs.end(), b.id) != gangs.end();
        facts.jobs_wait |= !is_gang && w.unsent > 0 && d.waited < kTaken;
        (is_gang ? facts.of_gangs : facts.demands).push_back(d);
    }
    if (!facts.demands.empty()) read_fleet(facts);
    learn_run_times(facts);
    take_what_hosts_hold(facts);
    leave_out_who_takes_none(facts);
}

void BatchPlanner::read_fleet(Facts& facts) {
    std::set<Id> apps;
    for (const BatchDemand& d : facts.demands) apps.insert(d.app);
    facts.reader.read(stores_.facts, AppUses(stores_.facts.versions(), classes_, settings_.compat_level), apps);
}

/// From here on mean_fpops is what a job really takes, as far as is known, and no longer what its submitter says.
void BatchPlanner::learn_run_times(Facts& facts) {
    std::map<Id, Id> users;
    std::set<Id> planned;
    std::vector<Id> in_progress;
    for (const Batch& b : facts.batches) users[b.id] = b.user_id;
    for (const BatchDemand& d : facts.demands) planned.insert(d.batch);
    for (const OpenBatchResult& r : facts.in_progress) {
        const BatchDemand* d = facts.demand(r.batch);
        if (d == nullptr) continue;
        ratios_.watch(r.id, r.batch, facts.computing(r) / std::max(d->mean_fpops, 1.0));
        in_progress.push_back(r.id);
    }
    if (!started_)  // believed anew, estimates of a tenth would make it give up what runs well
        for (const PlannedBatch& b : (last_.version == 0 ? stores_.plans.plan() : last_).batches)
            if (users.contains(b.batch)) ratios_.start(b.batch, users[b.batch], b.margin / settings_.rules.margin);
    started_ = true;
    const std::vector<Id> gone = ratios_.gone(std::move(in_progress));
    for (const ReturnedBatchResult& r : stores_.facts.returned(gone)) ratios_.returned(r, users);
    ratios_.keep(planned);
    for (BatchDemand& d : facts.demands) {
        const double ratio = facts.ratios[d.batch] = ratios_.of(d.batch, users[d.batch]);
        d.mean_fpops = std::min(d.mean_fpops * ratio, kEndless);
    }
}

/// Of a batch that was aborted nothing is learnt.
void BatchPlanner::learn_how_sure(const Facts& facts, const std::vector<std::pair<Id, double>>& completions) {
    for (const Id id : etas_.open()) {
        if (std::ranges::find(facts.batches, id, &Batch::id) != facts.batches.end()) continue;
        const auto batch = stores_.batches.batch(id);
        if (batch && batch->state == BatchState::kComplete)
            etas_.ended(id, batch->completion_time > 0 ? static_cast<double>(batch->completion_time) : facts.now);
        else
            etas_.forget(id);
    }
    for (const auto& [batch, end] : completions)
        if (end > 0) etas_.expect(batch, facts.now, end);
    const EtaFactors learnt = etas_.factors();
    if (learnt == factors_) return;
    stores_.plans.keep_eta_factors(learnt);
    factors_ = learnt;
}

/// It comes before anything else that they get.
void BatchPlanner::take_what_hosts_hold(Facts& facts) {
    FleetCapacity& fleet = facts.reader.fleet;
    std::vector<HostQueues::Held> held;
    for (const OpenBatchResult& r : facts.in_progress) {
        const auto pool = facts.pool_of(r);
        const int at_once = pool ? facts.reader.held_at_once(*pool, facts.app(r), r.version) : 1;
        held.push_back({r.id, facts.pool_key_of(r), facts.sent(r), facts.run_time(r), at_once});
    }
    queues_.note(std::move(held), facts.now);
    for (const OpenBatchResult& r : facts.in_progress) {
        const auto pool = facts.pool_of(r);
        if (!pool) continue;
        const double left = facts.run_time(r) - std::max(facts.now - queues_.start(r.id), 0.0);
        const int at_once = facts.reader.held_at_once(*pool, facts.app(r), r.version);
        fleet.occupy(*pool, facts.app(r), 1.0 / at_once, std::max(left, 0.0));
    }
}

void BatchPlanner::leave_out_who_takes_none(Facts& facts) {
    std::map<Id, UnresponsiveHosts::AppFacts> apps;
    for (const BatchDemand& d : facts.demands) {
        double& waited = apps[d.app].waited;
        waited = std::max(waited, d.waited);
    }
    for (const OpenBatchResult& r : facts.in_progress)
        if (const BatchDemand* d = facts.demand(r.batch); d != nullptr)
            apps[d->app].holders.insert(facts.pool_key_of(r));
    FleetCapacity& fleet = facts.reader.fleet;
    for (auto& [app, of_app] : apps) {
        of_app.now = facts.now, of_app.heard_of = facts.reader.heard_of;
        std::vector<bool> none = unresponsive_.take_none(app, fleet, of_app);
        std::set<Id> left;
        for (std::size_t p = 0; p < none.size() && left.size() < settings_.rules.min_hosts; ++p)
            if (!none[p] && fleet.at_once(p, app) > 0) left.insert(fleet.ids[p]);
        if (!none.empty() && left.size() >= settings_.rules.min_hosts) fleet.takes_none[app] = std::move(none);
    }
}

/// For jobs of the first batch of an app of which some wait: those that would be in time if they asked now.
void BatchPlanner::count_on_hosts(const Facts& facts, const std::vector<BatchTarget>& targets) {
    const FleetCapacity& fleet = facts.reader.fleet;
    std::set<Id> apps;
    for (std::size_t i = 0; i < targets.size(); ++i) {
        const BatchDemand& d = facts.demands[i];
        if (!targets[i].planned || d.jobs == 0 || !apps.insert(d.app).second) continue;
        for (std::size_t p = 0; p < fleet.size(); ++p) {
            if (fleet.at_once(p, d.app) == 0) continue;
            const double time = planned_run_time(fleet.computing(p, d.app, d.mean_fpops), fleet.availability[p]);
            if (settings_.rules.margin * time <= targets[i].finish)
                unresponsive_.count_on(d.app, pool_key(fleet.ids[p], fleet.types[p]), facts.now);
        }
    }
}

BatchPlan BatchPlanner::plan_of(const Facts& facts, const std::vector<BatchTarget>& targets) const {
    BatchPlan plan;
    plan.made_at = facts.now;
    std::int64_t place = 0;
    for (std::size_t i = 0; i < targets.size(); ++i) {
        const BatchTarget& t = targets[i];
        ++place;
        if (!t.planned) continue;
        // Schedulers know of a job only what its submitter says.
        const double margin = settings_.rules.margin * facts.ratios.at(t.batch);
        plan.batches.push_back({t.batch, facts.now + t.finish, margin, place, facts.demands[i].jobs, t.hosts});
    }
    std::sort(plan.batches.begin(), plan.batches.end(), [](const auto& a, const auto& b) { return a.batch < b.batch; });
    plan.left_out = facts.left_out;
    plan.newest_batch = facts.newest.batch, plan.newest_result = facts.newest.result;
    plan.awaited.push_back(seen_and_free(0));
    for (const Batch& b : facts.batches) {
        const bool waits = facts.any_demand(b.id) == nullptr;
        if (waits) plan.awaited.push_back(b.id);  // nothing is to be done yet
        if (!waits && plan.find_batch(b.id) == nullptr) plan.awaited.push_back(seen_and_free(b.id));
    }
    std::sort(plan.awaited.begin(), plan.awaited.end());
    return plan;
}

/// The last jobs make the batch late: each is waited for as long as it may take, no longer by that of the slowest. But
/// while jobs of a planned batch wait, a second instance would take a host from them: then nobody is given up so soon.
double BatchPlanner::chance_ends(const Facts& facts, const OpenBatchResult& r) const {
    return fair_end(queues_.start(r.id), settings_.rules.margin * facts.run_time(r),
                    facts.jobs_wait ? kPatientRuns : kLastRuns);
}

/// The later of T and of what is in progress; of what is late, another instance.
std::vector<std::pair<Id, double>> BatchPlanner::completions(const Facts& facts, const BatchPlan& plan) const {
    std::map<Id, double> by_batch;
    for (const PlannedBatch& b : plan.batches) by_batch[b.batch] = b.jobs > 0 ? b.finish : facts.now;
    for (const OpenBatchResult& r : facts.in_progress) {
        const auto at = by_batch.find(r.batch);
        if (at == by_batch.end()) continue;
        const double time = settings_.rules.margin * facts.run_time(r);
        double end = queues_.start(r.id) + time;
        if (end < facts.now) end = std::max(facts.now, chance_ends(facts, r)) + settings_.rules.least + time;
        at->second = std::max(at->second, end);
    }
    // What was expected of a batch that can't be planned any more holds no more.
    for (const PlannedBatch& b : last_.batches)
        if (facts.demand(b.batch) != nullptr) by_batch.emplace(b.batch, 0);
    return {by_batch.begin(), by_batch.end()};
}

std::vector<ReissueTimer> BatchPlanner::new_timers(const Facts& facts) const {
    std::vector<ReissueTimer> timers;
    for (const OpenBatchResult& r : facts.in_progress) {
        const PlannedBatch* plan = last_.find_batch(r.batch);
        if (plan == nullptr) continue;
        const double time = settings_.rules.margin * facts.run_time(r);
        timers.push_back(
            {r.id, r.batch,
             std::max(reissue_time(facts.sent(r), plan->finish, time), fair_end(queues_.start(r.id), time))});
    }
    return timers;
}

std::set<Id> BatchPlanner::past_their_chance(const Facts& facts) const {
    std::set<Id> past, silent;
    for (const OpenBatchResult& r : facts.in_progress) {
        if (!queues_.runs(r.id) || !facts.all_sent(r.batch) || chance_ends(facts, r) > facts.now) continue;
        past.insert(r.id);
        if (queues_.is_queued(r.id)) silent.insert(facts.pool_key_of(r));
    }
    for (const OpenBatchResult& r : facts.in_progress)
        if (silent.contains(facts.pool_key_of(r)) && facts.all_sent(r.batch)) past.insert(r.id);
    return past;
}

std::int64_t BatchPlanner::keep_timers(const Facts& facts) {
    std::vector<ReissueTimer> there = stores_.plans.timers(), add = new_timers(facts);
    std::unordered_map<Id, const OpenBatchResult*> open;
    for (const OpenBatchResult& r : facts.in_progress) open.emplace(r.id, &r);
    const std::set<Id> past = past_their_chance(facts);
    const auto is_due = [&](const ReissueTimer& t) { return t.at <= facts.now || past.contains(t.result); };
    std::vector<Id> remove;
    std::vector<OpenBatchResult> due;
    for (const ReissueTimer& t : there) {
        const auto at = open.find(t.result);
        if (at == open.end())
            remove.push_back(t.result);
        else if (is_due(t))
            due.push_back(*at->second);
    }
    std::erase_if(add, [&](const ReissueTimer& t) {
        return std::binary_search(there.begin(), there.end(), t,
                                  [](const auto& a, const auto& b) { return a.result < b.result; });
    });
    stores_.plans.set_timers(add, remove);
    if (due.empty()) return 0;
    return stores_.plans.give_up(due, static_cast<std::int64_t>(facts.now), false);
}

std::int64_t BatchPlanner::make_copies(const Facts& facts, const BatchPlan& plan) {
    if (!(settings_.copies > 0)) return 0;
    std::map<Id, std::vector<LastInstance>> last;
    for (const OpenBatchResult& r : facts.in_progress) {
        if (plan.find_batch(r.batch) == nullptr || !facts.all_sent(r.batch)) continue;
        const double end = queues_.start(r.id) + settings_.rules.margin * facts.run_time(r);
        last[r.batch].push_back({r, end < facts.now ? HUGE_VAL : end});
    }
    std::vector<Id> ids;
    for (const auto& of : last) ids.push_back(of.first);
    std::map<Id, std::set<Id>> copied;
    for (const CopiedJob& c : stores_.plans.copied(ids)) copied[c.batch].insert(c.workunit);
    std::int64_t all = 0;
    for (const Batch& b : facts.batches) {
        const auto at = last.find(b.id);
        if (at == last.end()) continue;
        const std::set<Id>& before = copied[b.id];
        std::erase_if(at->second, [&](const LastInstance& i) { return before.contains(i.result.workunit); });
        const auto chosen = instances_to_copy(std::move(at->second), plan.find_batch(b.id)->finish,
                                              copies_left(settings_.copies, b.njobs, std::ssize(before)));
        if (chosen.empty()) continue;
        const std::int64_t made = stores_.plans.copy(chosen, static_cast<std::int64_t>(facts.now));
        log_normal("[batch#{}] copies of {} of its last jobs, {} before; another host is done {:.0f} s from now", b.id,
                   made, before.size(), plan.find_batch(b.id)->finish - facts.now);
        all += made;
    }
    return all;
}

void BatchPlanner::say(const Facts& facts, const BatchPlan& plan) {
    std::map<Id, double> announced;
    for (const PlannedBatch& b : plan.batches) {
        const auto before = announced_.find(b.batch);
        announced[b.batch] = before == announced_.end() ? b.finish : before->second;
        if (before == announced_.end())
            log_normal("[batch#{}] to be done in {:.0f} s: {} jobs to be sent, {} hosts can be done with one by then",
                       b.batch, b.finish - facts.now, b.jobs, b.hosts);
    }
    announced_ = std::move(announced);
}

/// What another process has published and learnt.
void BatchPlanner::take_over() {
    if (last_.version != 0) return;
    last_ = stores_.plans.plan();
    etas_.start(factors_ = stores_.plans.eta_factors());
}

PlannerOutcome BatchPlanner::run() {
    const double started = clock_.now();
    Facts facts(memory_, started);
    if (!settings_.dry_run) {
        stores_.plans.prepare();
        take_over();
    }
    read(facts);
    const std::vector<BatchTarget> targets = plan_batches(facts.reader.fleet, facts.demands, settings_.rules);
    count_on_hosts(facts, targets);
    const BatchPlan plan = plan_of(facts, targets);
    PlannerOutcome done{
        facts.batches.size(), plan.batches.size(), facts.reader.fleet.hosts(), plan.left_out.size(), 0, 0, 0};
    done.news = std::any_of(facts.batches.begin(), facts.batches.end(), [&](const Batch& b) { return is_news(b.id); });
    if (settings_.dry_run) {
        for (const PlannedBatch& b : plan.batches)
            fmt::print("batch {}: {} jobs to be sent, T in {:.0f} s, {} hosts in H\n", b.batch, b.jobs,
                       b.finish - facts.now, b.hosts);
    } else {
        done.copies = make_copies(facts, plan);
        if (settings_.give_up) done.given_up = keep_timers(facts);
        const auto expected = completions(facts, plan);
        done.version = stores_.plans.publish(plan, expected);
        stores_.plans.forget_submissions(facts.ids(), facts.now);
        learn_how_sure(facts, expected);
        say(facts, plan);
        last_ = plan;
        last_.version = done.version;
    }
    seen_.clear();
    for (const Batch& b : facts.batches) seen_.insert(b.id);
    log_at(
        done.given_up > 0 || settings_.one_pass ? LogLevel::kNormal : LogLevel::kDebug,
        "{}pass: {} batches in progress, {} planned on {} hosts ({} left out), {} instances given up, {} copies; {:.3f} s",
        dry_run_words(settings_.dry_run), done.batches, done.planned, done.hosts, done.left_out, done.given_up,
        done.copies, clock_.now() - started);
    return done;
}

bool BatchPlanner::is_news(Id batch) const { return !seen_.contains(batch) && last_.find_batch(batch) == nullptr; }

bool BatchPlanner::has_news() {
    take_over();  // what another process knows is no news, either
    const std::vector<Batch> now = stores_.batches.in_progress(clock_.now_sec());
    return std::any_of(now.begin(), now.end(), [&](const Batch& b) { return is_news(b.id); });
}

PlannerService::PlannerService(const PlannerSettings& settings, BatchPlanner& planner, const Clock& clock,
                               Notices& notices)
    : Service(std::min(settings.every, kLook)),
      settings_(settings),
      planner_(planner),
      clock_(clock),
      notices_(notices),
      passes_(settings.every) {}

Turn PlannerService::turn() {
    if (settings_.before_turn) settings_.before_turn();
    const double now = clock_.now();
    if (!passes_.due(now) && !planner_.has_news()) return idle();
    const bool news = planner_.run().news;
    passes_.restart(now);
    // Schedulers read the plan in the feeder's tables. At level 1 the feeder reads them every minute by itself, and
    // jobs of a new batch wait for that.
    if (settings_.used && !settings_.dry_run && (news || settings_.compat_level == 0)) notices_.reread_tables();
    return idle();
}

}  // namespace sluice
