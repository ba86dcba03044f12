// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// One look at the pool. Every slot is read once, however many resources are asked for; its job becomes a candidate of
// each resource that could run it. Seed 002: start at random; N, M and L.
#include <array>
#include <optional>
#include <unordered_map>
#include <vector>

#include "sched/match/app_versions.h"
#include "sched/match/picked.h"
#include "sched/match/policies.h"

namespace sluice::match {

/// A job that is a candidate of some list. Small, like Entry, because there may be as many as slots.
struct Seen {
    std::uint64_t word = 0;
    std::uint32_t slot = 0;
    std::int32_t priority = 0;  ///< for ranked terms
    std::int32_t batch = 0;     ///< likewise
};

/// A candidate of one list. In order of scanning: ties go to the job seen first (starts are random).
struct Entry {
    double points = 0;        ///< score without ranked terms
    std::uint32_t order = 0;  ///< of its job in Candidates::seen
    std::uint32_t offer = 0;  ///< the version: VersionChooser::offer()
};

/// The candidates of one resource.
struct CandidateList {
    ProcType type = ProcType::kCpu;
    std::vector<Entry> entries;
    double seconds = 0, instances = 0;  ///< what all of them together could give (known only with <mm_min_slots>)
};

/// What one scan found.
struct Candidates {
    std::vector<CandidateList> lists;
    std::vector<Seen> seen;
    PriorityRanks ranks;
};

/// What depends on all candidates, once they are known: bands of the order of shares, and points of the ranked terms.
/// Each job's is looked up once, whatever the number of lists.
class RankedPoints {
  public:
    RankedPoints(const MatchContext& context, const ActivePolicies& policies, Candidates& found);
    /// By Entry::order; null: nothing is ranked.
    const double* by_order() const { return points_.empty() ? nullptr : points_.data(); }
    double of(std::uint32_t order) const { return points_.empty() ? 0 : points_[order]; }
    /// The part of it that is the batch's lag.
    double of_lag(std::uint32_t order) const { return lags_.empty() ? 0 : lags_[order]; }
    /// By Entry::order: a job of a lower band goes first, whatever its points; null: there is no order of shares.
    const std::uint32_t* bands() const { return bands_.empty() ? nullptr : bands_.data(); }
    std::optional<std::uint32_t> band(std::uint32_t order) const {
        return bands_.empty() ? std::nullopt : std::optional(bands_[order]);
    }

  private:
    void add_ranks(const ActivePolicies& policies, Candidates& found);
    void add_bands(const MatchContext& context, const ActivePolicies& policies, const std::vector<Seen>& seen);
    std::vector<double> points_, lags_;
    std::vector<std::uint32_t> bands_;
};

/// The candidates of a list, band by band, by falling value. They are ordered only as far as they are asked for, in
/// stretches of growing length.
class ByValue {
  public:
    ByValue(const CandidateList& list, const std::vector<Seen>& seen, const RankedPoints& ranking)
        : entries_(list.entries), seen_(seen), ranked_(ranking.by_order()), bands_(ranking.bands()) {}
    struct Place {
        const Entry* entry = nullptr;  ///< null past the end
        const Seen* job = nullptr;
        double score = 0;
        std::optional<std::uint32_t> share_band{};  ///< nullopt: there is no order of shares
    };
    Place get(std::size_t i) {
        if (i >= sorted_.size() && !reach(i)) return {};
        const Entry& entry = entries_[sorted_[i].index];
        return {&entry, &seen_[entry.order], sorted_[i].score, bands_ ? std::optional(sorted_[i].band) : std::nullopt};
    }

  private:
    struct Key {  // small, so that ordering touches little memory
        double score;
        std::uint32_t band, index;
        bool operator<(const Key& b) const {  // without branches: ties are as likely as not
            const bool in_band = (score > b.score) | ((score == b.score) & (index < b.index));
            return (band < b.band) | ((band == b.band) & in_band);
        }
    };
    bool reach(std::size_t i);
    void next_stretch();
    const std::vector<Entry>& entries_;
    const std::vector<Seen>& seen_;
    const double* ranked_;
    const std::uint32_t* bands_;
    std::vector<Key> sorted_, stretch_;
    std::size_t length_ = 96;
};

/// Everything about the host and its apps that policies need, computed once per RPC.
class AppTable {
  public:
    AppTable(const MatchContext& context, const ActivePolicies& policies);
    const AppFacts* find(std::int32_t app_id) const;
    const std::vector<AppFacts>& all() const { return apps_; }
    double points(const AppFacts& app) const { return points_[app.index]; }

  private:
    std::vector<AppFacts> apps_;
    std::vector<double> points_;             ///< of score terms of scope kApp
    std::vector<std::int32_t> by_small_id_;  ///< index by app id, -1; larger ids are in by_id_
    std::unordered_map<std::int64_t, std::uint32_t> by_id_;
};

/// Would what was found so far satisfy the request?
enum class Enough {
    kYes,
    kNotTogether,  ///< too few, or they don't fit together
    kRefused       ///< together they would, but the database refused some: asking costs a statement
};

/// A trace of refusals at the scan, and copies of the candidates' jobs, kept only if someone listens.
struct ScanLog {
    Trace* trace = nullptr;
    struct Copy {
        JobSummary job;
        SlotRef ref;
    };
    std::vector<Copy> jobs;  ///< by Entry::order
};

class Scanner {
  public:
    Scanner(const MatchContext& context, JobPool& pool, const AppTable& apps, const ActivePolicies& policies,
            VersionChooser& chooser);

    /// Fills `found` (the types of its lists are set). `satisfied` is asked, seldom, whether that is enough (Enough).
    /// Called again it goes on at the slot where it stopped: what it finds then is new.
    template <class Satisfied>
    void run(Candidates& found, const Picked& picked, MatchStats& stats, ScanLog& log, Satisfied satisfied);

    /// Stopped because what was found was enough; false: M slots were looked at, or all.
    bool stopped_early() const { return scanned_ > 0 && scanned_ < most_slots(); }

    /// The job of a candidate, if its slot still holds it.
    bool reread(const Seen& seen, JobSummary& job, SlotRef& ref) const;
    const Offer& offer(const Entry& entry) const { return chooser_.offer(entry.offer); }
    /// Keywords and input files of a job: from the slot, or from the XML where they don't fit there.
    void complete(Candidate& candidate, std::vector<std::int32_t>& keyword_space) const;

  private:
    void look_at(std::uint32_t slot, Candidates& found, MatchStats& stats, ScanLog& log);
    bool any_version(const Candidate& candidate, const std::vector<CandidateList>& lists) const;
    struct LastChecks;
    bool admits(const Candidate& candidate, LastChecks& last, Verdict& why) const;
    void enter(const Candidate& candidate, double points, std::uint32_t order, CandidateList& list) const;
    Verdict try_lists(Candidate& candidate, Candidates& found, ScanLog& log, bool& has_version) const;
    void note_work(Candidate candidate, const std::vector<CandidateList>& lists, MatchStats& stats);
    static void trace_refusal(const Candidate* c, const JobSummary& job, const SlotRef& ref, ProcType resource,
                              const Verdict& v, ScanLog& log);
    bool could_satisfy(const std::vector<CandidateList>& lists, const Picked& picked) const;
    std::uint32_t slots() const { return pool_.size() - pool_.extra(); }
    std::uint32_t most_slots() const {
        const std::uint32_t size = slots();
        return x_.params.mm_max_slots > 0 ? std::min(size, static_cast<std::uint32_t>(x_.params.mm_max_slots)) : size;
    }

    const MatchContext& x_;
    JobPool& pool_;
    const AppTable& apps_;
    const ActivePolicies& policies_;
    VersionChooser& chooser_;
    std::uint32_t scanned_ = 0, next_slot_ = 0;  ///< up to now, and where to go on
    int passed_over_ = 0;
    std::vector<bool> with_work_;  ///< by app index: noted already
    std::vector<std::int32_t> keyword_space_;
    JobSummary job_;  ///< the slot that is looked at; a member, so that it is not cleared for each
};

template <class Satisfied>
void Scanner::run(Candidates& found, const Picked& picked, MatchStats& stats, ScanLog& log, Satisfied satisfied) {
    const std::uint32_t size = slots();
    if (scanned_ == 0)
        for (std::uint32_t slot = size; slot < pool_.size(); ++slot) look_at(slot, found, stats, log);
    if (size == 0) return;
    const auto& p = x_.params;
    const std::uint32_t most = most_slots();
    const auto more_from = [](std::uint32_t seen) { return seen + std::max(seen / 4, 1u); };
    std::uint32_t next_check = p.mm_min_slots > 0 ? static_cast<std::uint32_t>(p.mm_min_slots) : most + 1;
    if (scanned_ > 0) next_check = more_from(scanned_);
    const std::uint32_t expected = p.mm_min_slots > 0 ? std::min(most, next_check * 2) : most;
    found.seen.reserve(expected);
    for (CandidateList& list : found.lists) list.entries.reserve(expected);
    if (scanned_ == 0) next_slot_ = static_cast<std::uint32_t>(x_.rng.below(size));
    std::uint32_t slot = next_slot_;
    for (std::uint32_t seen = scanned_ + 1; seen <= most; ++seen) {
        look_at(slot, found, stats, log);
        slot = slot + 1 == size ? 0 : slot + 1;
        stats.slots_scanned = scanned_ = seen;
        next_slot_ = slot;
        if (seen < next_check || !could_satisfy(found.lists, picked)) continue;
        const Enough answer = satisfied();
        if (answer == Enough::kYes) break;
        // Goes on from here; asks again when much is new.
        next_check = answer == Enough::kRefused ? 2 * seen : more_from(seen);
    }
    const auto locked_limit =
        p.mm_max_locked < 0 ? std::max(size / 10, 1u) : static_cast<std::uint32_t>(p.mm_max_locked);
    stats.locked_over_limit = locked_limit > 0 && stats.slots_locked >= locked_limit;
}

}  // namespace sluice::match
