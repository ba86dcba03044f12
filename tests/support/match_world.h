// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A whole small world for the matcher: a pool in memory, facts by result, and everything a MatchContext refers to.
#include <map>
#include <memory>
#include <set>

#include "sluice/match/buda.h"
#include "sluice/match/matcher.h"
#include "sluice/match/plan_classes.h"
#include "sluice/model/catalogue.h"
#include "tests/support/builders.h"
#include "tests/support/fixed_rng.h"

namespace sluice::test {

class MemoryPool final : public JobPool {
  public:
    struct Slot {
        SlotState state = SlotState::kEmpty;
        JobSummary job;
        std::uint64_t generation = 1;
        std::uint32_t infeasible = 0, passed_over = 0;
        std::string xml, keywords;
        bool discarded = false;
    };
    std::vector<Slot> slots;
    std::set<std::uint32_t> claimed;
    std::set<Id> lost;  ///< result ids that another scheduler claims first
    mutable std::uint64_t reads = 0;
    bool keep_claimed_visible = false;

    Slot& add(const JobSummary& job) {
        Slot s;
        s.state = SlotState::kPresent;
        s.job = job;
        return slots.emplace_back(s);
    }
    void add_empty() { slots.emplace_back(); }
    void add_locked() { slots.emplace_back().state = SlotState::kClaimed; }

    std::uint32_t size() const override { return static_cast<std::uint32_t>(slots.size()); }
    SlotState read(std::uint32_t i, JobSummary& job, SlotRef& ref) const override {
        ++reads;
        const Slot& s = slots[i];
        if (s.state != SlotState::kPresent) return s.state;
        job = s.job;
        ref = {i, s.infeasible, s.generation};
        return SlotState::kPresent;
    }
    bool claim(const SlotRef& ref) override {
        Slot& s = slots[ref.index];
        if (s.state != SlotState::kPresent || s.generation != ref.word || lost.contains(s.job.result_id)) return false;
        s.state = SlotState::kClaimed;
        claimed.insert(ref.index);
        return true;
    }
    void release(const SlotRef& ref) override {
        slots[ref.index].state = SlotState::kPresent;
        claimed.erase(ref.index);
    }
    void discard(const SlotRef& ref) override {
        slots[ref.index].state = SlotState::kEmpty;
        slots[ref.index].discarded = true;
        claimed.erase(ref.index);
    }
    std::optional<std::string> workunit_xml(const SlotRef& ref) const override { return slots[ref.index].xml; }
    std::string keywords(const SlotRef& ref) const override { return slots[ref.index].keywords; }
    void note_infeasible(const SlotRef& ref) override { ++slots[ref.index].infeasible; }
    void note_passed_over(const SlotRef& ref) override { ++slots[ref.index].passed_over; }
};

class MemoryFacts final : public FactsSource {
  public:
    std::map<Id, WorkunitFacts> by_result;  ///< what differs from "as the slot says"
    int loads = 0;
    std::size_t loaded = 0;

    WorkunitFacts of(const JobSummary& job) const {
        const auto it = by_result.find(job.result_id);
        WorkunitFacts f = it == by_result.end() ? WorkunitFacts{} : it->second;
        if (it == by_result.end()) f.found = true;
        if (f.workunit_id == 0) f.workunit_id = job.workunit_id;
        f.result_id = job.result_id;
        return f;
    }
    WorkunitFacts& at(Id result) {
        auto [it, fresh] = by_result.try_emplace(result);
        if (fresh) it->second.found = true;
        return it->second;
    }
    std::vector<WorkunitFacts> load(std::span<const JobSummary> jobs) override {
        ++loads;
        loaded += jobs.size();
        std::vector<WorkunitFacts> all;
        for (const JobSummary& j : jobs) all.push_back(of(j));
        return all;
    }
};

class TraceRows final : public Trace {
  public:
    struct Row {
        Id result = 0;
        ProcType resource = ProcType::kCpu;
        Verdict verdict;
        Reason fate = Reason::kFeasible;
        double score = 0;
        std::optional<std::uint32_t> share_band;
        std::map<std::string, double> points, values;
        int host_size_class = -1;
        bool size_is_guess = false;
    };
    std::vector<Row> rows;
    void row(const TraceRow& r) override {
        Row& copy = rows.emplace_back();
        copy.result = r.job->result_id;
        copy.resource = r.resource;
        copy.verdict = r.verdict;
        copy.fate = r.fate;
        copy.score = r.score;
        copy.share_band = r.share_band;
        copy.host_size_class = r.host_size_class;
        copy.size_is_guess = r.size_is_guess;
        for (const auto& t : r.terms) {
            copy.points[t.name] = t.weight * t.value;
            copy.values[t.name] = t.value;
        }
    }
    const Row* of(Id result) const {
        for (const Row& r : rows)
            if (r.result == result) return &r;
        return nullptr;
    }
};

/// The options that are not 0 at level 0.
inline MatchParams level0_params() {
    MatchParams p;
    p.version_select_random_factor = 1;
    p.max_wus_to_send = 10;
    return p;
}

/// Asks for one CPU job of any length; every field may be changed before match().
struct MatchWorld {
    HostFacts host = a_host();
    UserFacts user;
    WorkRequest wanted;
    ProjectTables tables = some_tables();
    MatchParams params = level0_params();
    PlanClasses plan_classes;
    BudaCatalogue buda;
    bool use_buda = false;
    double now = 1700000000;
    std::uint64_t seed = 1;
    std::unique_ptr<Rng> rng;
    MemoryPool pool;
    MemoryFacts facts;
    TraceRows trace;

    MatchWorld() {
        wanted.seconds[0] = 1;
        wanted.instances[0] = 1;
        params.version_select_random_factor = 0;
        user.id = 5;
    }
    MatchWorld& want(ProcType type, double seconds, double instances = 0) {
        wanted.seconds[static_cast<std::size_t>(type)] = seconds;
        wanted.instances[static_cast<std::size_t>(type)] = instances;
        return *this;
    }
    App& app(Id id) {
        for (App& a : tables.apps)
            if (a.id == id) return a;
        tables.versions.push_back(a_version(id * 10 + 1, id));
        return tables.apps.emplace_back(an_app(id));
    }
    MatchContext context() {
        rng = make_seeded_rng(seed);
        return {host, user, wanted, tables, params, plan_classes, use_buda ? &buda : nullptr, now, *rng};
    }
    MatchResult match() {
        const MatchContext c = context();
        return Matcher(c, pool, facts, &trace).match();
    }
    std::vector<Id> sent() {
        std::vector<Id> ids;
        for (const Chosen& c : match().jobs) ids.push_back(c.job.result_id);
        return ids;
    }
    /// Why the only job was refused (or sent: kFeasible).
    Reason why(const JobSummary& job) {
        pool.add(job);
        match();
        const auto* row = trace.of(job.result_id);
        return row ? row->fate : Reason::kCount;
    }
};

}  // namespace sluice::test
