// SPDX-License-Identifier: LGPL-3.0-or-later
#include "feeder/slot_filler.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "sluice/base/log.h"
#include "sluice/match/job_summary_of.h"

namespace sluice {

std::vector<std::size_t> interleave(std::vector<double> weights, std::size_t slots) {
    const auto counts = [](double w) { return std::isfinite(w) && w > 0; };
    if (weights.empty()) return {};
    if (std::none_of(weights.begin(), weights.end(), counts)) std::fill(weights.begin(), weights.end(), 1.0);
    constexpr double kNoCredit = -std::numeric_limits<double>::infinity();
    std::vector<double> credit;
    for (const double w : weights) credit.push_back(counts(w) ? 0 : kNoCredit);
    std::vector<std::size_t> plan;
    plan.reserve(slots);
    while (plan.size() < slots) {
        const auto best = static_cast<std::size_t>(std::max_element(credit.begin(), credit.end()) - credit.begin());
        credit[best] -= 1 / weights[best];
        plan.push_back(best);
    }
    return plan;
}

std::vector<std::uint32_t> spread(std::vector<std::uint32_t> slots) {
    constexpr std::uint32_t kGolden = 0x9e3779b1;  // of 2^32: no multiples of another number lie as evenly
    std::ranges::sort(slots, {}, [](std::uint32_t slot) { return slot * kGolden; });
    return slots;
}

namespace {

constexpr int kRounds = 8;               ///< queued jobs that turn out useless are replaced in the same turn
constexpr std::size_t kLoadChunk = 500;  ///< jobs a query: about a megabyte of XML
constexpr double kNotNowRest = 60;

}  // namespace

SlotFiller::SlotFiller(const ProjectConfig& config, const FeederOptions& options, FeederStore& store,
                       Enumerator& enumerator, Picker& picker)
    : config_(config),
      allapps_(options.allapps),
      by_shares_(options.order == FeederOrder::kShares),
      users_(options.users),
      store_(store),
      enumerator_(enumerator),
      picker_(picker) {}

void SlotFiller::set_apps(const std::vector<App>& apps, std::size_t slots, const HrInfo* hr_info) {
    plan_.clear();
    hr_type_.clear();
    common_hr_type_ = config_.homogeneous_redundancy;
    std::vector<double> weights;
    for (const App& app : apps) {
        hr_type_[app.id] = hr_type_of(app, config_.homogeneous_redundancy);
        weights.push_back(app.weight);
    }
    if (!apps.empty() && !allapps_) common_hr_type_ = hr_type_.at(apps.front().id);
    if (allapps_) {
        for (const std::size_t index : interleave(weights, slots)) plan_.push_back(apps[index].id);
    }
    slots_by_app_.clear();
    for (std::uint32_t slot = 0; slot < slots; ++slot) slots_by_app_[app_of_slot(slot)].push_back(slot);
    lacking_.clear();
    quota_ =
        hr_info != nullptr ? HrQuota(*hr_info, hr_slots(apps, common_hr_type_, static_cast<int>(slots))) : HrQuota();
}

Backlog::Accepts SlotFiller::accepts_for(Id app) const {
    if (!quota_.limits()) return {};
    const auto type = app == 0 ? hr_type_.end() : hr_type_.find(app);
    const int hr_type = type == hr_type_.end() ? common_hr_type_ : type->second;
    return [this, hr_type](const StreamKey& stream) { return quota_.accepts(hr_type, stream.hr_class); };
}

bool SlotFiller::has_job_for(Id app, const Backlog::Accepts& accepts) const {
    const std::vector<Id> nobody{0};
    for (const Id user : users_.empty() ? nobody : users_) {
        if (enumerator_.backlog().next_part(app, user, 0, accepts)) return true;
    }
    return false;
}

std::function<bool(std::uint32_t)> SlotFiller::wanted_places(const ArrayMirror& mirror) {
    count_classes(mirror);
    std::unordered_map<Id, bool> queued, room;  // by app
    for (const auto& [app, slots] : slots_by_app_) {
        queued[app] = has_job_for(app, accepts_for(app));
        room[app] = std::any_of(slots.begin(), slots.end(), [&](std::uint32_t slot) { return !mirror.at(slot).held; });
    }
    return [this, &mirror, queued, room](std::uint32_t slot) {
        const Id app = app_of_slot(slot);
        if (queued.at(app)) return !room.at(app);
        // Over its HR class's quota now, but not when this job has gone.
        const int hr_class = mirror.at(slot).hr_class;
        return quota_.limits() && has_job_for(app, [hr_class](const StreamKey& s) { return s.hr_class == hr_class; });
    };
}

bool SlotFiller::lacks(const UnsentRow& row) const {
    if (!lacks_app(row.app_id)) return false;
    StreamKey stream;
    stream.hr_class = row.hr_class;
    const auto accepts = accepts_for(allapps_ ? row.app_id : 0);
    return !accepts || accepts(stream);
}

void SlotFiller::count_classes(const ArrayMirror& mirror) {
    if (!quota_.limits()) return;
    quota_.clear_counts();
    for (std::size_t i = 0; i < mirror.size(); ++i) {
        const HeldJob& job = mirror.at(i);
        if (!job.held) continue;
        const auto type = hr_type_.find(job.queued.row.app_id);
        if (type != hr_type_.end()) quota_.add(type->second, job.hr_class);
    }
}

/// A queued job for each slot that has one; `slots` keeps the others.
std::vector<SlotFiller::Pick> SlotFiller::pick(std::vector<std::uint32_t>& slots, std::map<Id, ArrayShares>& shares) {
    std::vector<Pick> picks;
    picker_.begin_round();
    std::vector<std::uint32_t> without;
    without.reserve(slots.size());
    std::set<Id> dry;  // apps: what is taken meanwhile gives them no candidate that they had not before
    std::optional<Id> last_dry;
    for (auto at = slots.begin(); at != slots.end(); ++at) {
        if (plan_.empty() && !dry.empty()) {  // the slots are anyone's: a feeder without work looks at one only
            without.insert(without.end(), at, slots.end());
            break;
        }
        const std::uint32_t slot = *at;
        const Id app = app_of_slot(slot);
        std::optional<QueuedJob> queued;
        if (app != last_dry && dry.contains(app)) last_dry = app;
        if (app != last_dry) queued = picker_.take(enumerator_.backlog(), app, shares[app], accepts_for(app));
        if (!queued) {
            if (app != last_dry) dry.insert(app);
            without.push_back(slot);
            continue;
        }
        const auto type = hr_type_.find(queued->row.app_id);
        if (type != hr_type_.end()) quota_.add(type->second, queued->stream.hr_class);
        ++(queued->row.priority > 0 ? shares[app].high : shares[app].low);
        ++shares[app].by_batch[queued->row.batch];
        picks.push_back({slot, *queued});
    }
    lacking_.insert(dry.begin(), dry.end());
    slots = std::move(without);
    return picks;
}

SlotFiller::Fate SlotFiller::judge(const UnsentJob& job, const QueuedJob& queued) const {
    if (job.result.server_state != ServerState::kUnsent) return Fate::kGone;
    if (job.workunit.error_mask != 0 || job.workunit.canonical_resultid != 0) return Fate::kNotNeeded;
    if (job.workunit.transitioner_flags != TransitionerFlags::kNormal) return Fate::kNotNow;
    const auto type = hr_type_.find(job.workunit.appid);
    if (type == hr_type_.end()) return Fate::kNotNow;  // an app that is deprecated or not loaded
    if (!why_unwritable(job).empty()) return Fate::kUnwritable;
    const bool class_changed = quota_.limits() && job.workunit.hr_class != queued.stream.hr_class;
    return class_changed ? Fate::kOverQuota : Fate::kGood;
}

void SlotFiller::settle(Pick& pick, const UnsentJob* job, double now, Choice& choice,
                        std::vector<std::uint32_t>& again) {
    const Id id = pick.queued.row.id;
    const Fate fate = job == nullptr ? Fate::kNotNow : judge(*job, pick.queued);
    if (fate == Fate::kGood) {
        Placement& p = choice.placements.emplace_back();
        p.slot = pick.slot;
        p.job =
            job_summary_of(job->workunit, job->result, config_.reliable_on_priority, static_cast<std::int64_t>(now));
        p.doc = {job->workunit.name, job->workunit.xml_doc, job->workunit.keywords, job->result.name};
        pick.queued.row.priority = job->result.priority;
        p.held = {pick.queued,
                  now,
                  job->workunit.priority,
                  job->workunit.hr_class,
                  job->workunit.size_class,
                  job->workunit.app_version_id,
                  true};
        return;
    }
    const auto type = hr_type_.find(pick.queued.row.app_id);
    if (type != hr_type_.end()) quota_.add(type->second, pick.queued.stream.hr_class, -1);
    again.push_back(pick.slot);
    switch (fate) {
        case Fate::kNotNeeded: choice.not_needed.push_back(id); break;
        case Fate::kNotNow: enumerator_.rest(id, now + kNotNowRest); break;
        case Fate::kUnwritable:
            enumerator_.rest(id, now + kUnwritableRest);
            choice.unwritable.push_back({id, job->workunit.id, why_unwritable(*job)});
            break;
        case Fate::kOverQuota: {
            UnsentRow row = pick.queued.row;
            row.hr_class = job->workunit.hr_class;
            enumerator_.put_back(enumerator_.queued_job_of(row));
            break;
        }
        case Fate::kGone:
        case Fate::kGood: break;
    }
}

void SlotFiller::put_in_order(std::vector<Placement>& placements, const std::vector<std::uint32_t>& empty) const {
    if (placements.empty()) return;
    // Placements stand in the order of choice; what was chosen before and turned out useless has left gaps.
    std::map<Id, std::vector<std::uint32_t>> slots;
    for (auto slot = empty.rbegin(); slot != empty.rend(); ++slot) slots[app_of_slot(*slot)].push_back(*slot);
    for (Placement& p : placements) {
        auto& of_app = slots[app_of_slot(p.slot)];
        p.slot = of_app.back();
        of_app.pop_back();
    }
}

Choice SlotFiller::choose(const ArrayMirror& mirror, const std::vector<std::uint32_t>& empty_slots, double now) {
    Choice choice;
    count_classes(mirror);
    std::map<Id, ArrayShares> shares;
    for (const auto& [app, of_app] : slots_by_app_) shares[app] = mirror.shares(of_app);
    lacking_.clear();
    const std::vector<std::uint32_t> in_order = by_shares_ ? spread(empty_slots) : empty_slots;
    std::vector<std::uint32_t> slots = in_order;
    std::size_t without = 0;
    for (int round = 0; round < kRounds && !slots.empty(); ++round) {
        std::vector<Pick> picks = pick(slots, shares);
        without += slots.size();
        std::vector<std::uint32_t> again;
        for (std::size_t from = 0; from < picks.size(); from += kLoadChunk) {
            const std::size_t to = std::min(from + kLoadChunk, picks.size());
            std::vector<Id> ids;
            for (std::size_t i = from; i < to; ++i) ids.push_back(picks[i].queued.row.id);
            const std::vector<UnsentJob> jobs = store_.load(ids);
            std::unordered_map<Id, const UnsentJob*> by_id;
            for (const UnsentJob& job : jobs) by_id[job.result.id] = &job;
            for (std::size_t i = from; i < to; ++i) {
                const auto job = by_id.find(picks[i].queued.row.id);
                settle(picks[i], job == by_id.end() ? nullptr : job->second, now, choice, again);
            }
        }
        slots = std::move(again);
    }
    put_in_order(choice.placements, in_order);
    choice.slots_left = without + slots.size() > 0;
    return choice;
}

}  // namespace sluice
