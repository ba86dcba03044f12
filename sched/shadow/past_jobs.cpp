// SPDX-License-Identifier: LGPL-3.0-or-later
// The jobs that a scheduler could see at the moment of a recorded request: those that were sent soonest afterwards, and
// those that still wait, together as many as the job array has slots.
#include <fmt/format.h>

#include <algorithm>

#include "feeder/census_reader.h"
#include "feeder/chain.h"
#include "feeder/options.h"
#include "sched/shadow/past_state.h"
#include "sluice/base/rng.h"
#include "sluice/match/job_summary_of.h"

namespace sluice {
namespace {

constexpr std::size_t kAtOnce = 1000;

}  // namespace

PastState::PastState(LiveProject& project, const std::vector<JobSentThen>& sent)
    : project_(project),
      pool_(project.array ? DryJobPool(*project.array, {}) : DryJobPool()),
      of_database_(project.stores.stores()),
      accounts_(of_database_.accounts, since_),
      states_(of_database_.host_states, since_),
      results_(of_database_.results, since_) {
    find_sent(sent);
    fill();
}

void PastState::fill() {
    if (project_.array)
        fill_from_array();
    else
        fill_from_database();
}

void PastState::refill() {
    for (; !later_.empty(); later_.pop_front()) goes_out(later_.front().id);
    loaded_ = 0;
    waiting_.clear();
    pool_ = project_.array ? DryJobPool(*project_.array, {}) : DryJobPool();
    fill();
}

/// A job that waited until now comes with the others that were sent.
void PastState::add_sent(const std::vector<JobSentThen>& sent) {
    const std::size_t known = later_.size();
    find_sent(sent);
    for (std::size_t i = known; i < later_.size(); ++i) {
        const auto place = pool_.place_of(later_[i].id);
        if (!place) continue;
        pool_.set_shown(*place, false);
        std::erase_if(waiting_, [&](const auto& waits) { return waits.first == *place; });
    }
}

RpcStores PastState::stores() {
    return {accounts_, states_, results_, of_database_.assignments, of_database_.unit_of_work};
}

/// What the replies name, as the database knows it now.
void PastState::find_sent(const std::vector<JobSentThen>& sent) {
    for (std::size_t first = 0; first < sent.size(); first += kAtOnce) {
        const std::size_t end = std::min(sent.size(), first + kAtOnce);
        ResultQuery query;
        std::unordered_map<std::string, std::size_t> request_of;
        for (std::size_t i = first; i < end; ++i) {
            query.names.push_back(sent[i].name);
            request_of[sent[i].name] = sent[i].request;
        }
        std::vector<KnownResult> rows = of_database_.results.load(query);
        std::sort(rows.begin(), rows.end(),
                  [&](const KnownResult& a, const KnownResult& b) { return request_of[a.name] < request_of[b.name]; });
        unknown_ += end - first - std::min(end - first, rows.size());
        for (KnownResult& row : rows) {
            later_.push_back({row.id, request_of[row.name]});
            ++since_.jobs_sent[{row.hostid, generalized_version_id(row.appid, row.app_version_id)}];
            since_.unsent[row.id] = std::move(row);
        }
    }
}

void PastState::fill_from_array() {
    slots_ = project_.array->size();
    const int reliable = project_.config.reliable_on_priority;
    if (reliable != project_.live.reliable_on_priority) pool_.mark_reliable(reliable);
    for (std::uint32_t i = 0; i < pool_.size(); ++i) {
        JobSummary job;
        SlotRef ref;
        if (pool_.read(i, job, ref) != SlotState::kPresent) continue;
        if (since_.unsent.contains(job.result_id))
            pool_.set_shown(i, false);  // it comes with the jobs that were sent
        else
            waiting_.emplace_back(i, job.create_time);
    }
    origin_ = fmt::format("the job array of Sluice's feeder, {} slots", slots_);
}

/// As our feeder would fill an empty array now.
void PastState::fill_from_database() {
    slots_ = static_cast<std::size_t>(std::max(project_.live.shmem_work_items, 1));
    ProjectTables tables = *project_.tables;
    CensusReader(project_.live.project_dir).read(tables);
    project_.tables = std::make_shared<const ProjectTables>(std::move(tables));
    project_.apps.tables = project_.tables.get();
    SystemClock clock;
    const auto rng = make_seeded_rng(1);
    const FeederOptions options;
    const ArrayMirror empty(slots_);
    FeederChain chain(project_.config, options, *project_.feeder_store, Env{clock, *rng}, [](Id) { return false; });
    chain.set_apps(project_.tables->apps);
    if (project_.config.share_rule != ShareOrder::kOff) chain.set_batches(project_.tables->batch_shares);
    while (!chain.enumerator.has_surveyed()) chain.enumerator.turn(clock.now(), true);
    Choice choice = chain.filler.choose(empty, empty.empty_slots(), clock.now());
    for (Placement& p : choice.placements) {
        const std::int32_t made = p.job.create_time;
        waiting_.emplace_back(pool_.add_outsider(p.job, std::move(p.doc)), made);
    }
    origin_ = fmt::format("the database: as Sluice's feeder would fill {} slots", slots_);
}

/// It is on its way: for later requests the database says what became of it.
void PastState::goes_out(Id result) {
    const auto row = since_.unsent.find(result);
    if (row == since_.unsent.end()) return;
    const KnownResult& r = row->second;
    --since_.jobs_sent[{r.hostid, generalized_version_id(r.appid, r.app_version_id)}];
    since_.unsent.erase(row);
    const auto place = window_.find(result);
    if (place == window_.end()) return;
    pool_.remove_outsider(place->second);
    window_.erase(place);
}

/// The jobs that were sent soonest.
void PastState::fill_window() {
    std::vector<Id> wanted;
    while (loaded_ < later_.size() && window_.size() + wanted.size() < slots_) wanted.push_back(later_[loaded_++].id);
    for (std::size_t first = 0; first < wanted.size(); first += kAtOnce) {
        const std::span<const Id> some(wanted.data() + first, std::min(kAtOnce, wanted.size() - first));
        for (const UnsentJob& job : project_.feeder_store->load(some)) {
            const Workunit& w = job.workunit;
            if (project_.tables->app(w.appid) == nullptr) continue;
            window_[job.result.id] =
                pool_.add_outsider(job_summary_of(w, job.result, project_.config.reliable_on_priority,
                                                  static_cast<std::int64_t>(since_.at)),
                                   {w.name, w.xml_doc, w.keywords, job.result.name});
        }
    }
}

/// Of the jobs that still wait those that were there by then, in the slots that are left.
void PastState::show_waiting() {
    std::size_t left = slots_ - std::min(slots_, window_.size());
    for (const auto& [place, made] : waiting_) {
        const bool shown = left > 0 && static_cast<double>(made) <= since_.at;
        pool_.set_shown(place, shown);
        if (shown) --left;
    }
}

void PastState::move_to(std::size_t number, const RecordedRpc& rpc) {
    since_.at = rpc.at;
    clock_.set(rpc.at);
    while (!later_.empty() && later_.front().request < number) {
        goes_out(later_.front().id);
        later_.pop_front();
        if (loaded_ > 0) --loaded_;
    }
    since_.reported.clear();
    for (const ReportedResult& r : rpc.request.results) since_.reported.insert(r.name);
    fill_window();
    show_waiting();
}

}  // namespace sluice
