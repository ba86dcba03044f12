// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/explain/dry_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "sched/handle/host_facts.h"
#include "sched/handle/rpc.h"
#include "sched/handle/screen_client.h"
#include "sched/match/tally.h"
#include "sluice/match/policies.h"

namespace sluice {

DryJobPool::DryJobPool(const JobArray& array, PoolFilter filter) : array_(&array), slots_(array.size()) {
    slots_of_array_ = array.size();
    for (std::uint32_t i = 0; i < slots_of_array_; ++i) {
        Slot& s = slots_[i];
        s.state = array.read(i, s.job, s.ref);
        if (s.state == SlotState::kClaimed) ++locked_;
        if (s.state != SlotState::kPresent) continue;
        ++jobs_in_array_;
        s.shown = (filter.app == 0 || s.job.app_id == filter.app) && (filter.batch == 0 || s.job.batch == filter.batch);
    }
}

std::uint32_t DryJobPool::shown() const {
    return static_cast<std::uint32_t>(
        std::count_if(slots_.begin(), slots_.end(), [](const Slot& s) { return s.shown; }));
}

void DryJobPool::show_only(Id result) {
    for (Slot& s : slots_) s.shown = s.shown && s.job.result_id == result;
}

std::uint32_t DryJobPool::add_outsider(const JobSummary& job, SlotDoc doc) {
    auto place = static_cast<std::uint32_t>(slots_.size());
    if (free_.empty()) {
        slots_.emplace_back();
    } else {
        place = free_.back();
        free_.pop_back();
    }
    Slot& s = slots_[place];
    s.state = SlotState::kPresent;
    s.job = job;
    s.ref = {place, job.hr_class != 0 ? 1u : 0u, 0};
    s.shown = true;
    s.doc = std::move(doc);
    return place;
}

void DryJobPool::remove_outsider(std::uint32_t place) {
    slots_[place] = {};
    free_.push_back(place);
}

void DryJobPool::mark_reliable(int reliable_on_priority) {
    for (Slot& s : slots_)
        s.job.need_reliable = reliable_on_priority != 0 && s.job.priority >= reliable_on_priority ? 1 : 0;
}

std::optional<std::uint32_t> DryJobPool::slot_of(Id result) const {
    for (std::uint32_t i = 0; i < slots_of_array_; ++i)
        if (slots_[i].state == SlotState::kPresent && slots_[i].job.result_id == result) return i;
    return std::nullopt;
}

std::optional<std::uint32_t> DryJobPool::place_of(Id result) const {
    for (std::uint32_t i = 0; i < size(); ++i)
        if (slots_[i].state == SlotState::kPresent && slots_[i].job.result_id == result) return i;
    return std::nullopt;
}

SlotState DryJobPool::read(std::uint32_t index, JobSummary& job, SlotRef& ref) const {
    const Slot& s = slots_[index];
    if (s.state == SlotState::kClaimed) return SlotState::kClaimed;
    if (s.state == SlotState::kEmpty || !s.shown) return SlotState::kEmpty;
    if (s.claimed) return SlotState::kClaimed;
    job = s.job;
    ref = s.ref;
    return SlotState::kPresent;
}

bool DryJobPool::claim(const SlotRef& ref) {
    Slot& s = slots_[ref.index];
    if (s.claimed) return false;
    s.claimed = true;
    claimed_.push_back(ref.index);
    return true;
}

void DryJobPool::release(const SlotRef& ref) {
    slots_[ref.index].claimed = false;
    std::erase(claimed_, ref.index);
}

void DryJobPool::release_all() {
    for (const std::uint32_t i : claimed_) slots_[i].claimed = false;
    claimed_.clear();
}

void DryJobPool::hold_for(int requests) {
    held_.push_back(std::move(claimed_));
    claimed_.clear();
    while (held_.size() > static_cast<std::size_t>(requests)) {
        for (const std::uint32_t i : held_.front()) slots_[i].claimed = false;
        held_.pop_front();
    }
}

std::optional<SlotDoc> DryJobPool::document(const SlotRef& ref) const {
    const Slot& s = slots_[ref.index];
    if (s.doc) return s.doc;
    return array_ != nullptr ? array_->peek_doc(s.ref) : std::nullopt;
}

std::optional<std::string> DryJobPool::workunit_xml(const SlotRef& ref) const {
    auto doc = document(ref);
    if (!doc) return std::nullopt;
    return std::move(doc->wu_xml);
}

std::string DryJobPool::keywords(const SlotRef& ref) const {
    auto doc = document(ref);
    return doc ? std::move(doc->keywords) : std::string();
}

bool DryJobPool::any_present() const {
    for (const Slot& s : slots_)
        if (s.state == SlotState::kPresent) return true;
    return false;
}

namespace {

class TraceRecorder final : public Trace {
  public:
    void row(const TraceRow& row) override {
        JudgedJob& j = jobs.emplace_back();
        // An instance that is made for this host is in no slot.
        j.slot = row.job->result_id != 0 ? row.ref.index : std::numeric_limits<std::uint32_t>::max();
        j.job = *row.job;
        j.resource = row.resource;
        j.verdict = row.verdict;
        j.fate = row.fate;
        j.score = row.score;
        j.share_band = row.share_band;
        j.terms = row.terms;
        if (row.app != nullptr) j.app = row.app->name;
        j.host_size_class = row.host_size_class;
        j.size_is_guess = row.size_is_guess;
        if (row.version == nullptr) return;
        const AppChoice& v = *row.version;
        j.plan_class = v.plan_class;
        j.platform = v.platform;
        j.app_version_id = v.app_version_id;
        j.version_num = v.version_num;
        j.projected_flops = v.usage.projected_flops;
        if (v.effective_speed() > 0) j.runtime = j.job.rsc_fpops_est / v.effective_speed();
    }
    std::vector<JudgedJob> jobs;
};

/// Whether the array was searched, and if not, what stood before.
Search search_of(Rpc& rpc, const Screening& screening) {
    if (screening.finished) return ended_by_screening(screening);
    run_stages(rpc, true);
    return rpc.decision.search;
}

std::vector<std::string> jobs_from_elsewhere(const Rpc& rpc) {
    std::vector<std::string> lines;
    for (const OutgoingJob& job : rpc.decision.jobs) {
        if (job.origin == OutgoingJob::Origin::kResend)
            lines.push_back(
                fmt::format("RESULT#{} {} (lost by the host, sent again)", job.reply.result_id, job.reply.result_name));
        if (job.origin == OutgoingJob::Origin::kAssigned)
            lines.push_back(
                fmt::format("a new instance of WU#{} {} (assigned)", job.reply.workunit_id, job.reply.wu_name));
    }
    return lines;
}

/// A limit that lets nobody look at the array is still the answer for each of its jobs, and counted as often.
std::vector<JudgedJob> jobs_nobody_looked_at(const DryJobPool& pool, const ProjectTables& tables, MatchStats& stats) {
    std::vector<JudgedJob> all;
    const std::vector<Reason> order = binding_order(stats);
    if (order.empty()) return all;
    ReasonCount& binding = stats.reasons[static_cast<std::size_t>(order.front())];
    binding.count = 0;
    for (std::uint32_t i = 0; i < pool.size(); ++i) {
        JudgedJob j;
        SlotRef ref;
        if (pool.read(i, j.job, ref) != SlotState::kPresent) continue;
        const App* app = tables.app(j.job.app_id);
        j.slot = i;
        j.verdict = app != nullptr ? binding.nearest : refuse(Reason::kNoSuchApp, j.job.app_id, 0);
        if (app != nullptr)
            ++binding.count;
        else
            match::tally(stats, j.verdict, j.job);
        j.fate = j.verdict.reason;
        if (app != nullptr) j.app = app->name;
        all.push_back(std::move(j));
    }
    if (all.empty()) binding.count = 1;
    return all;
}

}  // namespace

void place_batches(std::vector<JudgedJob>& jobs, const ProjectTables& tables) {
    double least = std::numeric_limits<double>::infinity();
    for (JudgedJob& j : jobs) {
        const auto share = tables.batch_shares.find(j.job.batch);
        if (share == tables.batch_shares.end()) continue;
        j.batch_place = BatchPlace{share->second.user_id, share->second.end, 0};
        if (!j.terms.empty()) least = std::min(least, share->second.end);  // a candidate
    }
    for (JudgedJob& j : jobs)
        if (j.batch_place && j.batch_place->end > least) j.batch_place->lag = j.batch_place->end - least;
}

Explanation dry_run(RpcServices& services, const DryJobPool& pool, const SchedulerRequest& request) {
    TraceRecorder recorder;
    services.trace = &recorder;
    const Screening screening = screen_client(services, request);
    Rpc rpc(services, request, screening);
    Explanation e;
    e.search = search_of(rpc, screening);
    e.host = rpc.rows.host;
    e.user = rpc.who.account.user;
    e.facts = host_facts(rpc);
    e.stats = rpc.decision.stats;
    e.wanted = rpc.decision.wanted;
    e.other_jobs = jobs_from_elsewhere(rpc);
    for (const ReplyMessage& m : rpc.reply.messages) e.messages.push_back(m.text);
    e.slots = pool.slots_of_array();
    e.in_array = pool.jobs_in_array();
    e.locked = pool.locked();
    e.jobs = std::move(recorder.jobs);
    if (e.jobs.empty() && e.search == Search::kDone) e.jobs = jobs_nobody_looked_at(pool, services.tables, e.stats);
    place_batches(e.jobs, services.tables);
    for (JudgedJob& j : e.jobs)
        if (const PlannedBatch* plan = plan_of_batch(rpc, j.job.batch)) j.plan = *plan;
    return e;
}

DryDecision dry_decision(RpcServices& services, const SchedulerRequest& request) {
    services.trace = nullptr;
    const Screening screening = screen_client(services, request);
    Rpc rpc(services, request, screening);
    DryDecision o;
    const auto began = std::chrono::steady_clock::now();
    o.search = search_of(rpc, screening);
    o.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    o.stats = std::move(rpc.decision.stats);
    for (const OutgoingJob& job : rpc.decision.jobs) {
        const AppChoice& version = job.chosen.version;
        if (job.origin == OutgoingJob::Origin::kPool)
            o.jobs.push_back(
                {job.chosen.job.result_id, version.usage.proc_type, job.chosen.job.app_id, version.plan_class});
        if (job.origin == OutgoingJob::Origin::kResend) o.resent.push_back(job.reply.result_id);
        if (job.origin == OutgoingJob::Origin::kAssigned) ++o.assigned;
    }
    for (const ReplyMessage& m : rpc.reply.messages) o.messages.push_back(m.text);
    o.hostid = rpc.rows.host.id;
    return o;
}

std::vector<WorkunitFacts> AsUnsentStore::facts(const FactsQuery& query) {
    std::vector<WorkunitFacts> all = ReadOnlyResults::facts(query);
    for (WorkunitFacts& f : all) {
        if (result_.id == 0 || f.result_id != result_.id) continue;
        f.server_state = ServerState::kUnsent;
        // It does not stand in its own way where it was sent.
        if (query.count_user && result_.userid_of_host == query.userid) --f.results_of_user;
        if (query.count_host && result_.hostid == query.hostid) --f.results_of_host;
    }
    return all;
}

}  // namespace sluice
