// SPDX-License-Identifier: LGPL-3.0-or-later
#include "feeder/feeder.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "sluice/base/error.h"
#include "sluice/base/log.h"
#include "sluice/base/text.h"

namespace sluice {

FeederPart LiveFeeders::part(const std::vector<FeederLease>& leases, double now) {
    FeederPart part{0, 0};
    dead_.clear();
    std::map<std::string, Seen> seen;
    for (const FeederLease& lease : leases) {
        const auto before = seen_.find(lease.name);
        const bool unchanged =
            before != seen_.end() && before->second.beat == lease.beat && before->second.since <= now;
        const Seen& last = seen[lease.name] = unchanged ? before->second : Seen{lease.beat, now};
        if (lease.name == own_) {
            part.i = part.n;
        } else if (now - last.since >= kExpiry) {
            dead_.push_back(lease);
            continue;
        }
        ++part.n;
    }
    seen_ = std::move(seen);
    return part.n == 0 ? FeederPart{} : part;
}

namespace {

constexpr double kLongestRetryWait = 10, kStarvationInterval = 600;
constexpr double kTakenRest = 1;  ///< a job that was taken but is unsent still comes back after this time

}  // namespace

Feeder::Feeder(const ProjectConfig& config, const FeederOptions& options, const FeederParts& parts, Env env)
    : config_(config),
      options_(options),
      array_(parts.array),
      store_(parts.store),
      catalogue_(parts.catalogue),
      env_(env),
      census_(config.project_dir),
      mirror_(parts.array.size()),
      leases_(parts.leases),
      live_(parts.lease_name),
      retry_wait_(1, kLongestRetryWait),
      rotation_(options.rotate_after / 10),
      starvation_report_(std::min(kStarvationInterval, options.starvation_after)) {
    summary_.restart(env_.clock.now());
}

double Feeder::turn() {
    const double now = env_.clock.now();
    keep_house(now);
    if (trouble_.empty() || now >= retry_at_) {
        try {
            work(now);
            trouble_log_.over();
            trouble_.clear();
            retry_wait_.reset();
        } catch (const DbError& e) {
            note_trouble(e.what(), now);
        } catch (const NoSharedMemory& e) {  // for new tables: the jobs that are there go on being sent
            note_trouble(e.what(), now);
        }
    }
    sum_up(now);
    return wait_time(now);
}

/// What needs no database.
void Feeder::keep_house(double now) {
    array_.heartbeat(static_cast<std::int64_t>(now));
    std::map<StreamKey, double> flowing;  // since when the oldest that was taken was there
    for (const HeldJob& job : mirror_.notice_taken(array_)) {
        ++tally_.taken;
        if (options_.rotate_after > 0 && now - job.since >= options_.rotate_after) {
            const auto oldest = flowing.try_emplace(job.line(), job.since).first;
            oldest->second = std::min(oldest->second, job.since);
        }
        starvation_.taken(job.queued.row.id);
        if (chain_) chain_->enumerator.rest(job.queued.row.id, now + kTakenRest);
    }
    for (const auto& [line, since] : flowing) mirror_.restart_looks(line, since, array_);
    if (!house_.take(now)) return;
    const int given_back = array_.reclaim_dead_claims();
    if (given_back == 0) return;
    tally_.reclaimed += static_cast<std::uint64_t>(given_back);
    log_warning("{} slots were held by schedulers that died; their jobs are present again", given_back);
}

void Feeder::note_trouble(const std::string& what, double now) {
    const std::string next =
        fmt::format("the jobs in the array stay available, trying again at least every {:.0f} s", kLongestRetryWait);
    trouble_log_.report({what, next, true}, now);
    trouble_ = what;
    retry_at_ = now + retry_wait_.next();
}

void Feeder::work(double now) {
    if (!chain_) set_up(now);
    share_with_others(now);
    look_at_triggers(now);
    refresh_credit_scales(now);
    keep_file_groups(now);
    if (config_.dont_send_jobs) {
        if (!std::exchange(ready_, true)) array_.set_ready(true);
        return;
    }
    check_held_jobs(now);
    make_room(now);
    fill(now);
    rotate(now);
    report_starvation(now);
    name_unwritable_jobs(now);
    name_pinned_jobs(now);
    name_jobs_without_batch(now);
}

void Feeder::fill(double now) {
    Enumerator& enumerator = chain_->enumerator;
    // First what is known already: a refill must not wait for a walk.
    if (enumerator.has_surveyed()) fill_empty_slots(now);
    const std::size_t known = enumerator.backlog().size();
    enumerator.turn(now, hungry_);
    if (!enumerator.has_surveyed()) return;
    if (!ready_ || (hungry_ && enumerator.backlog().size() > known)) fill_empty_slots(now);
    if (std::exchange(ready_, true)) return;
    array_.set_ready(true);
    log_normal("The job array is ready: {} of {} slots are filled", mirror_.held(), mirror_.size());
}

void Feeder::fill_empty_slots(double now) {
    const auto empty = mirror_.empty_slots();
    hungry_ = false;
    if (empty.empty()) return;
    const Choice choice = chain_->filler.choose(mirror_, empty, now);
    publish(choice.placements, now);
    note_unwritable(choice.unwritable);
    hungry_ = choice.slots_left;
    if (choice.not_needed.empty()) return;
    const auto marked = store_.mark_didnt_need(choice.not_needed, static_cast<std::int64_t>(now));
    tally_.not_needed += static_cast<std::uint64_t>(marked);
    log_normal("{} unsent results are not needed any more (their workunit failed or is done), the first: [RESULT#{}]",
               marked, choice.not_needed.front());
}

void Feeder::publish(const std::vector<Placement>& placements, double now) {
    for (const Placement& p : placements) {
        JobSummary job = p.job;
        job.time_added = clamp_to_int32(starvation_.offered(job.result_id, now));
        if (array_.publish(p.slot, job, p.doc)) {
            mirror_.set(p.slot, p.held);
            ++tally_.added;
            log_normal("adding result [RESULT#{}] in slot {}", p.job.result_id, p.slot);
            continue;
        }
        chain_->enumerator.put_back(p.held.queued);
        const std::string& why = array_.growth_error();
        if (std::exchange(memory_trouble_, why) != why && !why.empty())
            log_critical("{}; slot {} stays empty", why, p.slot);
    }
}

std::optional<HeldJob> Feeder::withdraw(std::uint32_t slot) {
    JobSummary job;
    SlotRef ref;
    const HeldJob& held = mirror_.at(slot);
    if (!held.held || array_.read(slot, job, ref) != SlotState::kPresent || job.result_id != held.queued.row.id)
        return std::nullopt;
    const std::uint32_t passed_over = array_.passed_over_count(slot);
    if (!array_.withdraw(ref)) return std::nullopt;
    starvation_.withdrawn(job.result_id, passed_over);
    ++tally_.withdrawn;
    return mirror_.clear(slot);
}

double Feeder::wait_time(double now) const {
    if (!trouble_.empty()) return std::clamp(retry_at_ - now, 0.0, 1.0);
    if (config_.dont_send_jobs) return 1;
    if (!chain_ || !ready_) return 0;
    // Little at a time and often: what is taken meanwhile is seen at once, but not in the middle of a query.
    if (chain_->enumerator.cycle_running()) return kWalkWait;
    return chain_->enumerator.goes_deeper() ? 0.1 : 0.2;
}

void Feeder::sum_up(double now) {
    if (!summary_.take(now)) return;
    const Tally t = std::exchange(tally_, {});
    total_.added += t.added, total_.taken += t.taken, total_.reclaimed += t.reclaimed,
        total_.not_needed += t.not_needed;
    total_.withdrawn += t.withdrawn, total_.rotated += t.rotated, total_.purged += t.purged;
    if (t.added + t.taken + t.withdrawn + t.not_needed + t.reclaimed == 0 || !chain_) return;
    log_normal(
        "Last minute: {} jobs added, {} taken, {} withdrawn ({} rotated, {} purged), {} not needed, {} given back; {} of {} slots "
        "filled, {} jobs waiting",
        t.added, t.taken, t.withdrawn, t.rotated, t.purged, t.not_needed, t.reclaimed, mirror_.held(), mirror_.size(),
        chain_->enumerator.backlog().size());
}

}  // namespace sluice
