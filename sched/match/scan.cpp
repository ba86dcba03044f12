#include "sched/match/scan.h"

#include <algorithm>
#include <functional>

#include "sched/match/input_files.h"
#include "sched/match/tally.h"
#include "sluice/base/text.h"

namespace sluice::match {
namespace {

// The host's jobs that can run beside one more, at worst: the largest, one for each of the other processors.
double memory_beside(const HostFacts& host) {
    std::vector<double> held;
    for (const JobOnHost& job : host.in_progress)
        if (job.memory > 0) held.push_back(job.memory);
    std::sort(held.begin(), held.end(), std::greater<>());
    const auto others = static_cast<std::size_t>(std::max(host.usable_cpus - 1, 0));
    double sum = 0;
    for (std::size_t i = 0; i < std::min(others, held.size()); ++i) sum += held[i];
    return sum;
}

// Which of two refusals of one slot to count: the one that got further.
bool got_further(const Verdict& a, const Verdict& b) {
    const auto stage = [](const Verdict& v) {
        switch (v.reason) {
            case Reason::kFeasible: return -1;
            case Reason::kNoAppVersion: return 0;
            case Reason::kResourceNotWanted: return 1;
            case Reason::kGpuMissing: return 2;
            case Reason::kAppVersionMismatch:
            case Reason::kNeedsReliable:
            case Reason::kMemory: return 4;
            default: return 3;
        }
    };
    return stage(a) > stage(b);
}

}  // namespace

ByValue::ByValue(const std::vector<Entry>& entries, const RankedPoints& ranking) : entries_(entries) {
    heap_.reserve(entries.size());
    for (std::uint32_t i = 0; i < entries.size(); ++i)
        heap_.push_back({entries[i].points + ranking.points(entries[i].priority), i});
    std::make_heap(heap_.begin(), heap_.end(), Worse());
}

ByValue::Place ByValue::get(std::size_t i) {
    while (sorted_.size() <= i) {
        if (heap_.empty()) return {};
        std::pop_heap(heap_.begin(), heap_.end(), Worse());
        sorted_.push_back(heap_.back());
        heap_.pop_back();
    }
    return {&entries_[sorted_[i].index], sorted_[i].score};
}

AppTable::AppTable(const MatchContext& x, const ActivePolicies& policies) {
    constexpr std::size_t kSmallIds = 4096;
    by_small_id_.assign(kSmallIds, -1);
    const double beside = x.params.compat_level > 0 ? memory_beside(x.host) : 0;
    const JobSummary blank{};
    const PoolRef nowhere{};
    for (std::uint32_t i = 0; i < x.tables.apps.size(); ++i) {
        const App& app = x.tables.apps[i];
        AppFacts f;
        f.app = &app;
        f.index = i;
        f.memory_beside = beside;
        const auto& chosen = x.user.selected_apps;
        f.selected = chosen.empty() || std::find(chosen.begin(), chosen.end(), app.id) != chosen.end();
        f.hr =
            app.homogeneous_redundancy != HrType::kNone ? app.homogeneous_redundancy : x.params.homogeneous_redundancy;
        if (f.hr == HrType::kFine) f.host_hr_class = x.host.hr_class_fine;
        if (f.hr == HrType::kCoarse) f.host_hr_class = x.host.hr_class_coarse;
        if (const auto it = x.params.app_limits.find(app.name); it != x.params.app_limits.end()) f.limits = &it->second;
        if (app.size_classes() > 1)
            if (const auto it = x.tables.size_quantiles.find(app.id); it != x.tables.size_quantiles.end())
                f.quantiles = &it->second;
        const Candidate c{blank, nowhere, f, nullptr, {}, 0, 0, 0};
        f.verdict = policies.fast(Scope::kApp, x, c);
        points_.push_back(policies.score(Scope::kApp, x, c));
        apps_.push_back(f);
        if (app.id >= 0 && app.id < static_cast<Id>(kSmallIds))
            by_small_id_[static_cast<std::size_t>(app.id)] = static_cast<std::int32_t>(i);
        else
            by_id_[app.id] = i;
    }
}

const AppFacts* AppTable::find(std::int32_t id) const {
    if (id >= 0 && static_cast<std::size_t>(id) < by_small_id_.size()) {
        const std::int32_t i = by_small_id_[static_cast<std::size_t>(id)];
        return i < 0 ? nullptr : &apps_[static_cast<std::size_t>(i)];
    }
    const auto it = by_id_.find(id);
    return it == by_id_.end() ? nullptr : &apps_[it->second];
}

Scanner::Scanner(const MatchContext& context, JobPool& pool, const AppTable& apps, const ActivePolicies& policies,
                 VersionChooser& chooser)
    : x_(context), pool_(pool), apps_(apps), policies_(policies), chooser_(chooser), with_work_(apps.all().size()) {}

bool Scanner::reread(const Entry& entry, JobSummary& job, PoolRef& ref) const {
    return pool_.read(entry.slot, job, ref) == PoolSlot::kPresent && ref.generation == entry.generation;
}

void Scanner::complete(Candidate& c, std::vector<std::int32_t>& space) const {
    const JobSummary& job = c.job;
    if (x_.params.keyword_sched && job.n_keywords > 0) {
        if (job.n_keywords <= job.keywords.size()) {
            c.keywords = {job.keywords.data(), job.n_keywords};
        } else {
            space.clear();
            for (std::string_view word : split(pool_.keywords(c.ref), ' '))
                if (const auto k = parse_int(word); k && *k != 0) space.push_back(static_cast<std::int32_t>(*k));
            c.keywords = space;
        }
    }
    if (c.app.app->locality_scheduling == 1 && job.n_input_files > 0 && !x_.host.files.empty())
        find_local_files(x_.host, pool_, c);
}

Verdict Scanner::try_pass(Candidate& c, Pass& pass, double points) const {
    const VersionPick pick = chooser_.choose(c.app, c.job, c.ref, pass.type);
    c.offer = pick.offer;
    if (!pick.offer) return pick.why;
    if (Verdict v = policies_.fast(Scope::kVersion, x_, c); !v) return v;
    Entry e;
    e.points = points + policies_.score(Scope::kVersion, x_, c);
    e.generation = c.ref.generation;
    e.offer = pick.offer;
    e.slot = c.ref.index;
    e.infeasible_count = c.ref.infeasible_count;
    e.order = order_;
    e.priority = c.job.priority;
    pass.entries.push_back(e);
    const HostUsage& use = pick.offer->choice.usage;
    const double amount = pass.type == ProcType::kCpu ? use.avg_ncpus : use.gpu_usage;
    pass.seconds += c.runtime() * amount;
    pass.instances += amount;
    return feasible();
}

void Scanner::trace_refusal(const Candidate* c, const JobSummary& job, const PoolRef& ref, ProcType pass,
                            const Verdict& v, ScanLog& log) {
    if (!log.trace) return;
    TraceRow row;
    row.ref = ref;
    row.job = &job;
    row.pass = pass;
    row.verdict = v;
    row.fate = v.reason;
    if (c) {
        row.app = c->app.app;
        if (c->offer) {
            row.version = &c->offer->choice;
            row.host_size_class = c->offer->host_size_class;
            row.size_is_guess = c->offer->choice.speed_is_guess;
        }
    }
    log.trace->row(row);
}

// Has any resource asked for a version for this job?
bool Scanner::any_version(const Candidate& c, const std::vector<Pass>& passes) const {
    return std::any_of(passes.begin(), passes.end(), [&](const Pass& pass) {
        return chooser_.choose(c.app, c.job, c.ref, pass.type).offer != nullptr;
    });
}

// The refusal of all passes; feasible if the job became a candidate of one.
Verdict Scanner::try_passes(Candidate& c, std::vector<Pass>& passes, ScanLog& log, bool& has_version) const {
    const double points = apps_.points(c.app) + policies_.score(Scope::kJob, x_, c);
    Verdict furthest = feasible();
    bool taken = false;
    for (Pass& pass : passes) {
        const Verdict v = try_pass(c, pass, points);
        has_version = has_version || c.offer;
        taken = taken || v;
        if (!v) trace_refusal(&c, c.job, c.ref, pass.type, v, log);
        if (got_further(v, furthest)) furthest = v;
    }
    return taken ? feasible() : furthest;
}

// For the volunteer: is there work of this app, whatever else keeps it away? Upstream's measure.
void Scanner::note_work(const AppFacts& app, const Verdict& refusal, MatchStats& stats) {
    switch (refusal.reason) {
        case Reason::kBetaNotAllowed:
        case Reason::kReservedForLtt:
        case Reason::kNeedsReliable: return;
        default: break;
    }
    if (with_work_[app.index]) return;
    with_work_[app.index] = true;
    stats.apps_with_jobs.push_back(app.app->id);
}

void Scanner::look_at(std::uint32_t slot, Candidates& found, MatchStats& stats, ScanLog& log) {
    std::vector<Pass>& passes = found.passes;
    JobSummary& job = job_;
    PoolRef ref;
    switch (pool_.read(slot, job, ref)) {
        case PoolSlot::kEmpty: return;
        case PoolSlot::kLocked: ++stats.slots_locked; return;
        case PoolSlot::kPresent: break;
    }
    stats.pool_empty = false;
    const AppFacts* app = apps_.find(job.app_id);
    if (!app) {
        const Verdict v = refuse(Reason::kNoSuchApp, job.app_id, 0);
        tally(stats, v, job);
        trace_refusal(nullptr, job, ref, passes.front().type, v, log);
        return;
    }
    Candidate c{job, ref, *app, nullptr, {}, 0, 0, 0};
    bool has_version = false;
    Verdict refusal = app->verdict;
    if (refusal) {
        complete(c, keyword_space_);
        refusal = policies_.fast(Scope::kJob, x_, c);
    }
    if (refusal) {
        refusal = try_passes(c, passes, log, has_version);
    } else {
        // Whoever has no version of the app is not told of anything else (upstream looks for versions first).
        has_version = refusal.reason != Reason::kNonCpuIntensive && any_version(c, passes);
        trace_refusal(&c, job, ref, passes.front().type, refusal, log);
    }
    if (has_version) {
        note_work(*app, refusal, stats);
        note_shortage(stats, refusal, job);
    }
    if (refusal) {
        ++stats.candidates;
        if (policies_.ranks()) found.ranks.see(job.priority);
        if (log.trace) log.jobs.push_back(job);
        ++order_;
        return;
    }
    tally(stats, refusal, job);
    if (passed_over_ < Matcher::kMaxPassedOverNotes) {
        ++passed_over_;
        pool_.note_passed_over(ref);
    }
}

// A cheap bound: without this much there is no need to ask whether the set would satisfy the request.
bool Scanner::could_satisfy(const std::vector<Pass>& passes, const Picked& picked) const {
    std::size_t all = 0;
    double seconds = 0;
    bool enough = true;
    for (const Pass& pass : passes) {
        all += pass.entries.size();
        seconds += pass.seconds;
        const auto t = static_cast<std::size_t>(pass.type);
        if (picked.left.resource_specific)
            enough = enough && pass.seconds >= picked.left.seconds[t] && pass.instances >= picked.left.instances[t];
    }
    // Old requests count seconds of jobs, not of processors, so that bound is not theirs.
    if (!picked.left.resource_specific) enough = all > 0 && seconds > 0;
    return enough || static_cast<double>(all) >= picked.max_jobs - picked.jobs;
}

}  // namespace sluice::match
