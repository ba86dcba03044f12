// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/match/scan.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sched/match/candidate.h"
#include "sched/match/share_bands.h"
#include "sched/match/tally.h"
#include "sluice/base/text.h"
#include "sluice/xml/sticky_files.h"

namespace sluice::match {
namespace {

void count(const HostFacts& host, std::uint32_t hash, double nbytes, Candidate& c) {
    const auto on_host = host.files.find(hash);
    if (on_host != host.files.end()) {
        ++c.local_files;
        if (!(nbytes > 0)) nbytes = on_host->second;
        c.local_bytes += nbytes;
    }
    c.input_bytes += nbytes;
}

/// Fills local_files, local_bytes and input_bytes: the job's sticky input files against those on the host.
void find_local_files(const HostFacts& host, const JobPool& pool, Candidate& c) {
    if (c.job.n_input_files <= c.job.input_files.size()) {
        for (std::size_t i = 0; i < c.job.n_input_files; ++i)
            count(host, c.job.input_files[i].name_hash, static_cast<double>(c.job.input_files[i].nbytes), c);
        return;
    }
    if (const auto xml = pool.workunit_xml(c.ref))
        for (const StickyInput& file : sticky_inputs(*xml))
            count(host, file_name_hash(file.name.data(), file.name.size()), file.nbytes, c);
}

}  // namespace

RankedPoints::RankedPoints(const MatchContext& context, const ActivePolicies& policies, Candidates& found) {
    if (policies.ranks()) add_ranks(policies, found);
    if (policies.orders_by_share()) add_bands(context, policies, found.seen);
}

void RankedPoints::add_bands(const MatchContext& context, const ActivePolicies& policies,
                             const std::vector<Seen>& seen) {
    std::vector<const BatchShare*> shares;
    shares.reserve(seen.size());
    for (std::size_t i = 0; i < seen.size(); ++i) {
        const bool again = i > 0 && seen[i].batch == seen[i - 1].batch;  // jobs of a batch lie together
        shares.push_back(again ? shares.back() : share_of(context.tables, seen[i].batch));
    }
    const ShareBands order(shares, policies.share_draw());
    points_.resize(seen.size());
    lags_.reserve(seen.size());
    bands_.reserve(seen.size());
    for (std::size_t i = 0; i < seen.size(); ++i) {
        const ShareBands::Place place = order.place(shares[i]);
        bands_.push_back(place.band);
        lags_.push_back(place.lag > 0 ? -policies.lag_weight() * place.lag : 0);
        points_[i] += lags_.back();
    }
}

void RankedPoints::add_ranks(const ActivePolicies& policies, Candidates& found) {
    struct Known {
        bool valid = false;
        std::int32_t priority = 0;
        double points = 0;
    };
    std::array<Known, 64> known{};  // most priorities repeat
    points_.reserve(found.seen.size());
    for (const Seen& seen : found.seen) {
        Known& k = known[static_cast<std::uint32_t>(seen.priority) % known.size()];
        if (!k.valid || k.priority != seen.priority) {
            const bool let = is_logical_end_time(seen.priority);
            const double weight = let ? policies.let_rank_weight() : policies.priority_rank_weight();
            k = {true, seen.priority, weight != 0 ? weight * found.ranks.rank(seen.priority) : 0};
        }
        points_.push_back(k.points);
    }
}

bool ByValue::reach(std::size_t i) {
    while (sorted_.size() <= i && sorted_.size() < entries_.size()) next_stretch();
    return i < sorted_.size();
}

// Looks once at the candidates for the best `length_` of those that come after the last one known: no more are kept
// than twice as many, and most fall short of the worst of these at the first look.
void ByValue::next_stretch() {
    stretch_.clear();
    const bool first = sorted_.empty();
    const Key last = first ? Key{} : sorted_.back();
    bool known = false;  // the worst of the best
    Key worst{};
    const auto cut = [&] {
        std::nth_element(stretch_.begin(), stretch_.begin() + static_cast<std::ptrdiff_t>(length_ - 1), stretch_.end());
        stretch_.resize(length_);
        worst = stretch_.back();
        known = true;
    };
    const Entry* const entries = entries_.data();
    const double* const ranked = ranked_;
    const std::uint32_t* const bands = bands_;
    for (std::uint32_t i = 0, n = static_cast<std::uint32_t>(entries_.size()); i < n; ++i) {
        const Entry& e = entries[i];
        const double score = ranked ? e.points + ranked[e.order] : e.points;
        const Key key{score, bands ? bands[e.order] : 0, i};
        if (known && !(key < worst)) continue;
        if (!first && !(last < key)) continue;
        stretch_.push_back(key);
        if (stretch_.size() == 2 * length_) cut();
    }
    if (stretch_.size() > length_) cut();
    std::sort(stretch_.begin(), stretch_.end());
    sorted_.insert(sorted_.end(), stretch_.begin(), stretch_.end());
    length_ *= 4;
}

AppTable::AppTable(const MatchContext& x, const ActivePolicies& policies) {
    constexpr std::size_t kSmallIds = 4096;
    Id largest = -1;
    for (const App& app : x.tables.apps)
        if (app.id < static_cast<Id>(kSmallIds)) largest = std::max(largest, app.id);
    by_small_id_.assign(static_cast<std::size_t>(largest + 1), -1);
    const double beside = x.params.compat_level > 0 ? MemoryBeside(x.host).sum() : 0;
    const JobSummary blank{};
    const SlotRef nowhere{};
    for (std::uint32_t i = 0; i < x.tables.apps.size(); ++i) {
        const App& app = x.tables.apps[i];
        AppFacts f;
        f.app = &app;
        f.index = i;
        f.memory_beside = beside;
        const auto& chosen = x.user.selected_apps;
        f.selected = chosen.empty() || std::find(chosen.begin(), chosen.end(), app.id) != chosen.end();
        f.hr = app.homogeneous_redundancy != HrType::kNone ? app.homogeneous_redundancy : x.params.project_hr();
        if (f.hr == HrType::kFine) f.host_hr_class = x.host.hr_class_fine;
        if (f.hr == HrType::kCoarse) f.host_hr_class = x.host.hr_class_coarse;
        const auto& limits = x.params.max_jobs_in_progress.apps;
        if (const auto it = limits.find(app.name); it != limits.end()) f.limits = &it->second;
        if (app.size_classes() > 1)
            if (const auto it = x.tables.size_quantiles.find(app.id); it != x.tables.size_quantiles.end())
                f.quantiles = &it->second;
        const Candidate c{blank, nowhere, f, nullptr};
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

bool Scanner::reread(const Seen& seen, JobSummary& job, SlotRef& ref) const {
    return pool_.read(seen.slot, job, ref) == SlotState::kPresent && ref.word == seen.word;
}

void Scanner::complete(Candidate& c, std::vector<std::int32_t>& space) const {
    const JobSummary& job = c.job;
    if (x_.params.keyword_sched && job.n_keywords > 0) {
        if (job.n_keywords <= job.keywords.size()) {
            c.keywords = {job.keywords.data(), job.n_keywords};
        } else {
            space.clear();
            const std::string text = pool_.keywords(c.ref);  // split() gives views of it
            for (std::string_view word : split(text, ' '))
                if (const auto k = parse_int(word); k && *k != 0) space.push_back(static_cast<std::int32_t>(*k));
            c.keywords = space;
        }
    }
    if (c.app.app->locality_scheduling == 1 && job.n_input_files > 0 && !x_.host.files.empty())
        find_local_files(x_.host, pool_, c);
}

void Scanner::enter(const Candidate& c, double points, std::uint32_t order, CandidateList& list) const {
    points += policies_.score(Scope::kVersion, x_, c);
    if (std::isnan(points)) points = -std::numeric_limits<double>::infinity();  // or nothing could be ordered
    list.entries.push_back({points, order, c.offer->number});
    if (x_.params.mm_min_slots <= 0) return;  // nobody asks whether there is enough
    const HostUsage& use = c.offer->choice.usage;
    const double amount = list.type == ProcType::kCpu ? use.avg_ncpus : use.gpu_usage;
    list.seconds += c.runtime() * amount;
    list.instances += amount;
}

void Scanner::trace_refusal(const Candidate* c, const JobSummary& job, const SlotRef& ref, ProcType resource,
                            const Verdict& v, ScanLog& log) {
    if (!log.trace) return;
    TraceRow row;
    row.ref = ref;
    row.job = &job;
    row.resource = resource;
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
bool Scanner::any_version(const Candidate& c, const std::vector<CandidateList>& lists) const {
    return std::any_of(lists.begin(), lists.end(), [&](const CandidateList& list) {
        return chooser_.choose(c.app, c.job, c.ref, list.type).offer != nullptr;
    });
}

// First the checks of the version that would run the job, then the later checks of the job alone, which are made once
// for all versions.
struct Scanner::LastChecks {
    bool made = false, passed = false;
    Verdict why;
};

bool Scanner::admits(const Candidate& c, LastChecks& last, Verdict& why) const {
    if (!policies_.passes(Scope::kVersion, x_, c, why)) return false;
    if (!last.made) {
        last.made = true;
        last.passed = policies_.passes(Scope::kJobLast, x_, c, last.why);
    }
    if (!last.passed) why = last.why;
    return last.passed;
}

// The one of the refusals that got furthest, the first of those.
Verdict furthest(const std::array<Verdict, kProcTypes>& refusals) {
    const auto progress = [](const Verdict& v) { return reason_row(v.reason).of_resources; };
    return *std::ranges::max_element(refusals, {}, progress);
}

// The refusal of all lists; feasible if the job became a candidate of one.
Verdict Scanner::try_lists(Candidate& c, Candidates& found, ScanLog& log, bool& has_version) const {
    const double points = apps_.points(c.app) + policies_.score(Scope::kJob, x_, c);
    const Picks* known = chooser_.picks(c.app, c.job, c.ref);
    const auto order = static_cast<std::uint32_t>(found.seen.size());
    VersionPick own;  // of a job with conditions of its own
    LastChecks last;
    std::array<Verdict, kProcTypes> refusals;
    std::size_t refused = 0;
    for (CandidateList& list : found.lists) {
        if (!known) own = chooser_.choose(c.app, c.job, c.ref, list.type);
        const VersionPick& pick = known ? (*known)[static_cast<std::size_t>(list.type)] : own;
        c.offer = pick.offer;
        has_version = has_version || c.offer;
        Verdict& why = refusals[refused];
        if (c.offer && admits(c, last, why)) {
            enter(c, points, order, list);
            continue;
        }
        if (!c.offer) why = for_this_job(pick.why, c.job);
        trace_refusal(&c, c.job, c.ref, list.type, why, log);
        ++refused;
    }
    if (refused == found.lists.size()) return furthest(refusals);
    found.seen.push_back({c.ref.word, c.ref.index, c.job.priority, c.job.batch});
    return feasible();
}

// For the volunteer: is there work of this app, whatever else keeps it away? Upstream's measure: what is not for this
// kind of host or volunteer at all does not count, whichever check refused the job first.
void Scanner::note_work(Candidate c, const std::vector<CandidateList>& lists, MatchStats& stats) {
    if (with_work_[c.app.index] || kBetaRow.check(x_, c).refused()) return;
    const bool counts = std::any_of(lists.begin(), lists.end(), [&](const CandidateList& list) {
        c.offer = chooser_.choose(c.app, c.job, c.ref, list.type).offer;
        return c.offer && !kLttReservedRow.check(x_, c).refused() && !kReliableOnlyRow.check(x_, c).refused();
    });
    if (!counts) return;
    with_work_[c.app.index] = true;
    stats.apps_with_jobs.push_back(c.app.app->id);
}

void Scanner::look_at(std::uint32_t slot, Candidates& found, MatchStats& stats, ScanLog& log) {
    std::vector<CandidateList>& lists = found.lists;
    JobSummary& job = job_;
    SlotRef ref;
    switch (pool_.read(slot, job, ref)) {
        case SlotState::kEmpty: return;
        case SlotState::kClaimed: ++stats.slots_locked; return;
        case SlotState::kPresent: break;
    }
    stats.pool_empty = false;
    const AppFacts* app = apps_.find(job.app_id);
    if (!app) {
        const Verdict v = refuse(Reason::kNoSuchApp, job.app_id, 0);
        tally(stats, v, job);
        trace_refusal(nullptr, job, ref, lists.front().type, v, log);
        return;
    }
    Candidate c{job, ref, *app, nullptr};
    bool has_version = false;
    Verdict refusal = app->verdict;
    if (!refusal.refused()) {
        complete(c, keyword_space_);
        refusal = policies_.fast(Scope::kJob, x_, c);
    }
    if (!refusal.refused()) {
        refusal = try_lists(c, found, log, has_version);
    } else {
        // A host without a version of the app hears of nothing else (upstream looks for versions first).
        has_version = refusal.reason != Reason::kNonCpuIntensive && any_version(c, lists);
        trace_refusal(&c, job, ref, lists.front().type, refusal, log);
    }
    if (has_version) note_work(c, lists, stats);
    if (!refusal.refused()) {
        ++stats.candidates;
        if (policies_.ranks()) found.ranks.see(job.priority);
        if (log.trace) log.jobs.push_back({job, ref});
        return;
    }
    if (has_version) note_shortage(stats, refusal, job);
    tally(stats, refusal, job);
    if (passed_over_ < Matcher::kMaxPassedOverNotes) {
        ++passed_over_;
        pool_.note_passed_over(ref);
    }
}

// A cheap bound: without this much there is no need to ask whether the set would satisfy the request.
bool Scanner::could_satisfy(const std::vector<CandidateList>& lists, const Picked& picked) const {
    std::size_t all = 0;
    double seconds = 0;
    bool enough = true;
    for (const CandidateList& list : lists) {
        all += list.entries.size();
        seconds += list.seconds;
        const auto t = static_cast<std::size_t>(list.type);
        if (picked.left.resource_specific)
            enough = enough && list.seconds >= picked.left.seconds[t] && list.instances >= picked.left.instances[t];
    }
    // Old requests count seconds of jobs, not of processors, so that bound is not theirs.
    if (!picked.left.resource_specific) enough = all > 0 && seconds > 0;
    return enough || static_cast<double>(all) >= picked.max_jobs - picked.jobs;
}

}  // namespace sluice::match
