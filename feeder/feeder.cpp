// SPDX-License-Identifier: LGPL-3.0-or-later
#include "feeder/feeder.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>

#include "feeder/reclaim.h"
#include "sluice/base/error.h"
#include "sluice/base/log.h"
#include "sluice/base/text.h"
#include "sluice/match/plan_classes.h"

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

/// A trigger file that goes when its wish is fulfilled, unless it was made anew meanwhile.
class SeenTrigger {
  public:
    /// nullopt: it is not there. Its owner may set its time of change back by a second: file systems count in ticks of
    /// some milliseconds, and a touch within this tick must be noticed, too.
    static std::optional<SeenTrigger> look(const std::filesystem::path& file);
    /// errno; 0: it is gone, or it is another wish now.
    int remove_if_unchanged() const;

  private:
    SeenTrigger(std::filesystem::path file, const struct stat& seen) : file_(std::move(file)), seen_(seen) {}
    std::filesystem::path file_;
    struct stat seen_ {};
};

bool same_time(const timespec& a, const timespec& b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; }

std::optional<SeenTrigger> SeenTrigger::look(const std::filesystem::path& file) {
    struct stat seen {};
    if (::lstat(file.c_str(), &seen) != 0) return std::nullopt;
    timespec times[2] = {{0, UTIME_OMIT}, seen.st_mtim};
    --times[1].tv_sec;
    const bool marked = ::utimensat(AT_FDCWD, file.c_str(), times, AT_SYMLINK_NOFOLLOW) == 0;
    if (marked && ::lstat(file.c_str(), &seen) != 0) return std::nullopt;
    return SeenTrigger(file, seen);
}

int SeenTrigger::remove_if_unchanged() const {
    struct stat now {};
    if (::lstat(file_.c_str(), &now) != 0) return errno == ENOENT ? 0 : errno;
    if (now.st_dev != seen_.st_dev || now.st_ino != seen_.st_ino || !same_time(now.st_mtim, seen_.st_mtim)) return 0;
    return ::unlink(file_.c_str()) == 0 || errno == ENOENT ? 0 : errno;
}

constexpr std::size_t kCheckChunk = 100;  // a refill waits for it
constexpr double kLongestRest = 86400;

/// What the slot plan and the walks are made from.
bool same_plan(const std::vector<App>& a, const std::vector<App>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const App& x, const App& y) {
        return x.id == y.id && x.weight == y.weight && x.homogeneous_redundancy == y.homogeneous_redundancy;
    });
}

/// What a feeder of this kind looks for; feeders of other kinds share nothing with it.
std::string kind_of(const FeederOptions& options) {
    std::string kind = "apps";
    for (const Id app : options.appids) kind += " " + std::to_string(app);
    kind += " users";
    for (const Id user : options.users) kind += " " + std::to_string(user);
    return kind;
}

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

void Feeder::publish_tables(double now) {
    if (config_.non_cpu_intensive)  // the whole project is
        for (App& app : tables_.apps) app.non_cpu_intensive = true;
    census_.read(tables_);
    if (config_.share_rule == ShareOrder::kOff) tables_.batch_shares.clear();  // what is stored of them is of the past
    if (!config_.gives_an_owner_to_jobs_without_batch()) tables_.batch_shares.erase(kWithoutBatch);
    if (config_.share_rule == ShareOrder::kSeed)
        for (auto& [id, share] : tables_.batch_shares) share.quota = 0;  // the seed has no draw
    if (chain_) chain_->set_batches(tables_.batch_shares);
    tables_.built_at = static_cast<std::int64_t>(now);
    array_.publish_tables(tables_);
    name_broken_versions();
}

void Feeder::set_up(double now) {
    std::error_code ignored;
    if (options_.leave_reread_db)
        look_at_wish_of_other_feeder();
    else
        std::filesystem::remove(reread_trigger(), ignored);  // everything is about to be read anyway
    if (options_.is_main_feeder()) update_credit_scales();
    ProjectTables loaded = catalogue_.load_tables();
    hr_info_changed();
    auto chain =
        std::make_unique<FeederChain>(config_, options_, store_, env_, [this](Id id) { return mirror_.holds(id); });
    chain->set_apps(loaded.apps);
    chain_ = std::move(chain);
    tables_ = std::move(loaded);
    try {
        publish_tables(now);
    } catch (const NoSharedMemory&) {
        chain_.reset();  // it is not set up
        throw;
    }
    if (options_.is_main_feeder()) name_inactive_jobs();
    credit_scales_.restart(now);
    reload_.restart(now);
    log_normal("read {} platforms, {} apps, {} app_versions, {} assignments", tables_.platforms.size(),
               tables_.apps.size(), tables_.versions.size(), tables_.broadcasts.size());
}

bool Feeder::renew_plan() {
    try {
        chain_->set_apps(tables_.apps);
        return true;
    } catch (const ConfigError& e) {
        log_critical("{}; going on with the slots as they were", e.what());
        return false;
    }
}

bool Feeder::hr_info_changed() {
    if (!config_.hr_allocate_slots) return false;
    const auto time = hr_info_time(config_.project_dir);
    return std::exchange(hr_info_time_, time) != time;
}

/// New tables for the schedulers; jobs stay where they are, but for those of apps that are gone.
void Feeder::reload(double now) {
    const std::vector<App> before = std::exchange(tables_, catalogue_.load_tables()).apps;
    publish_tables(now);
    if (same_plan(before, tables_.apps)) return;
    renew_plan();
    for (std::uint32_t slot = 0; slot < mirror_.size(); ++slot) {
        const HeldJob& job = mirror_.at(slot);
        if (!job.held) continue;
        const Id planned = chain_->filler.app_of_slot(slot);
        const bool wrong_app = planned != 0 && planned != job.queued.row.app_id;
        if (wrong_app || tables_.app(job.queued.row.app_id) == nullptr) withdraw(slot);  // a walk finds it again
    }
}

/// True: somebody made or touched it since the last look. Its time stays, for the other feeder looks at it, too.
bool Feeder::look_at_wish_of_other_feeder() {
    std::error_code none;
    const auto time = std::filesystem::last_write_time(reread_trigger(), none);
    if (none) {
        seen_reread_.reset();
        return false;
    }
    return std::exchange(seen_reread_, time) != time;
}

void Feeder::look_at_triggers(double now) {
    if (!triggers_.take(now)) return;
    const std::filesystem::path trigger = reread_trigger();
    if (options_.leave_reread_db && look_at_wish_of_other_feeder()) {
        reload(now);
        chain_->enumerator.forget_rests();
        log_normal("Found trigger file {}; the tables were read again, and another feeder removes it",
                   trigger.string());
    } else if (const auto wish = options_.leave_reread_db ? std::nullopt : SeenTrigger::look(trigger)) {
        reload(now);
        chain_->enumerator.forget_rests();
        // It goes when the tables have been read again. It stays after a failure of the database, or if an admin made
        // it again meanwhile: that change is not read yet.
        if (const int error = wish->remove_if_unchanged(); error != 0)
            log_warning("Can't remove {}: {}; remove it, or the tables are read again every second", trigger.string(),
                        std::strerror(error));
        log_normal("Found trigger file {}; the tables were read again", trigger.string());
    } else if (census_.changed(tables_.apps)) {
        publish_tables(now);
        log_normal("Files of size_census changed; {} apps have size quantiles", tables_.size_quantiles.size());
    } else if (hr_info_changed()) {
        if (renew_plan()) log_normal("hr_info.txt changed; HR classes share the slots by it");
    } else if ((config_.compat_level > 0 || options_.leave_reread_db) && reload_.take(now)) {
        reload(now);
    }
}

void Feeder::share_with_others(double now) {
    if (leases_ == nullptr || !renewal_.take(now)) return;
    FeederPart part;
    try {
        part = live_.part(leases_->renew(live_.own(), kind_of(options_)), now);
        for (const FeederLease& lease : live_.dead()) {
            log_warning("The feeder of {} has not been heard of for {:.0f} s; its jobs are shared by the others",
                        lease.name, LiveFeeders::kExpiry);
            leases_->drop(lease);
        }
    } catch (const DbError& e) {
        if (e.kind() != DbError::Kind::kOther) throw;
        log_warning("Feeders of several machines can't share the jobs ({}); this one offers all of them", e.what());
        leases_ = nullptr;
        part = {};
    }
    if (std::exchange(part_, part) == part) return;
    log_normal("{} feeders share the jobs; this one offers part {}", part.n, part.i);
    chain_->enumerator.set_part(part);
    for (std::uint32_t slot = 0; slot < mirror_.size(); ++slot)
        if (mirror_.at(slot).held && !part.has(mirror_.at(slot).queued.row.id)) withdraw(slot);
}

/// Which versions are for GPUs plan_class_spec.xml says, which may change: without it nothing is recomputed.
int Feeder::update_credit_scales() {
    try {
        const PlanClasses classes = load_plan_classes(config_.project_dir);
        return catalogue_.update_credit_scales(
            [&](const std::string& plan_class) { return classes.resource(plan_class, config_.compat_level); });
    } catch (const FileError& e) {
        log_critical("credit scales stay as they are: {}", e.what());
        return 0;
    }
}

/// Upstream: update_av_scales, by the main feeder only. All tables are loaded again, so that what loading derives
/// (versions that are not the latest, version numbers) is not lost.
void Feeder::refresh_credit_scales(double now) {
    if (!credit_scales_.take(now)) return;
    if (options_.is_main_feeder()) {
        const int changed = update_credit_scales();
        if (changed > 0) log_normal("Credit scales: {} rows of apps and versions changed", changed);
    }
    reload(now);
    if (options_.is_main_feeder()) name_inactive_jobs();
}

/// Which files' jobs there are, for locality; by the main feeder only. The other tables stay as they are.
void Feeder::keep_file_groups(double now) {
    if (!options_.is_main_feeder() || !file_groups_.take(now)) return;
    std::vector<FileGroup> groups = catalogue_.keep_file_groups(static_cast<std::int64_t>(now));
    if (groups == tables_.file_groups) return;
    tables_.file_groups = std::move(groups);
    array_.publish_tables(tables_);
}

/// Compares jobs in the array with the database, a part of the array at a time. Jobs that were cancelled, sent by
/// others or done leave the array. Jobs whose priority, HR class or committed version changed go back to the queue, and
/// return with the new values.
void Feeder::check_held_jobs(double now) {
    if (!check_.take(now)) return;
    std::vector<Id> ids;
    std::vector<std::uint32_t> slots;
    std::size_t i = 0;
    for (; i < mirror_.size() && ids.size() < kCheckChunk; ++i) {
        const std::size_t slot = (check_from_ + i) % mirror_.size();
        const HeldJob& job = mirror_.at(slot);
        if (!job.held || now - job.since < check_.interval()) continue;
        ids.push_back(job.queued.row.id);
        slots.push_back(static_cast<std::uint32_t>(slot));
    }
    check_from_ = (check_from_ + i) % mirror_.size();
    std::vector<JobState> states = store_.look_at(ids);
    std::ranges::sort(states, {}, &JobState::result_id);
    std::vector<Id> not_needed;
    for (std::size_t k = 0; k < ids.size(); ++k) {
        const auto s = std::ranges::lower_bound(states, ids[k], {}, &JobState::result_id);
        if (s == states.end() || s->result_id != ids[k]) {
            withdraw(slots[k]);  // result or workunit was deleted
        } else {
            apply(*s, slots[k], not_needed);
        }
    }
    if (!not_needed.empty())
        tally_.not_needed +=
            static_cast<std::uint64_t>(store_.mark_didnt_need(not_needed, static_cast<std::int64_t>(now)));
}

void Feeder::apply(const JobState& s, std::uint32_t slot, std::vector<Id>& not_needed) {
    const HeldJob& job = mirror_.at(slot);
    const bool sendable = s.server_state == ServerState::kUnsent && s.transitioner_flags == TransitionerFlags::kNormal;
    const bool useless = s.error_mask != 0 || s.canonical_resultid != 0;
    const bool same = s.priority == job.queued.row.priority && s.wu_priority == job.wu_priority &&
                      s.hr_class == job.hr_class && s.size_class == job.size_class &&
                      s.app_version_id == job.app_version_id;
    if (sendable && !useless && same) return;
    const bool accelerated = s.wu_priority != job.wu_priority;
    const auto withdrawn = withdraw(slot);
    if (!withdrawn) return;  // a scheduler has it: it looks at the database itself
    if (sendable && useless) not_needed.push_back(s.result_id);
    if (!sendable || useless) return;
    UnsentRow row = withdrawn->queued.row;
    row.priority = s.priority;
    row.hr_class = s.hr_class;
    if (accelerated) starvation_.taken(s.result_id);  // its wait as a job for low-turnaround hosts begins now
    chain_->enumerator.put_back(chain_->enumerator.queued_job_of(row));
}

void Feeder::make_room(double now) {
    if (!room_.take(now)) return;
    purge_stale(now);
    if (options_.order == FeederOrder::kBatchAccel) {
        std::map<Id, Waiting> waiting;
        for (const auto& [stream, n] : chain_->enumerator.backlog().lengths()) {
            (stream.part != 0 ? waiting[stream.app].high : waiting[stream.app].low) += n;
        }
        for (const auto& [app, slots] : chain_->filler.slots_by_app()) {
            for (const std::uint32_t slot : slots_to_rebalance(mirror_, slots, options_.accel_share, waiting[app])) {
                if (const auto job = withdraw(slot)) chain_->enumerator.put_back(job->queued);
            }
        }
    }
}

void Feeder::purge_stale(double now) {
    std::vector<Id> committed;
    for (const std::uint32_t slot : stale_slots(mirror_, now, options_.purge_stale)) {
        const auto job = withdraw(slot);
        if (!job) continue;
        ++tally_.purged;
        if (job->hr_class != 0) committed.push_back(job->queued.row.workunit_id);
        chain_->enumerator.rest(job->queued.row.id, now + options_.purge_stale, true);
    }
    if (committed.empty()) return;
    const auto freed = store_.release_hr_class(committed, static_cast<std::int64_t>(now), config_.compat_level == 0);
    log_normal("{} workunits whose jobs were not taken for {:.0f} s are free of their HR class", freed,
               options_.purge_stale);
}

/// After filling: a slot that was emptied a moment ago is not one that nobody waits for.
void Feeder::rotate(double now) {
    if (options_.rotate_after <= 0 || !rotation_.take(now)) return;
    const auto looks = [this](std::uint32_t slot) { return mirror_.looks(slot, array_); };
    const Rotation rotation{now, options_.rotate_after, looks, chain_->filler.wanted_places(mirror_)};
    std::size_t rotated = 0;
    for (const std::uint32_t slot : slots_to_rotate(mirror_, rotation)) {
        const auto job = withdraw(slot);
        if (!job) continue;
        ++rotated;
        // Longer each time: jobs that are never taken must not take turns among themselves, be their priority ever so
        // high. They return sooner when a slot would stay empty.
        const Id id = job->queued.row.id;
        const double rest = options_.rotate_after * std::exp2(std::min(starvation_.rotated(id), 8));
        chain_->enumerator.rest(id, now + std::min(rest, std::max(kLongestRest, options_.rotate_after)), true);
    }
    tally_.rotated += rotated;
    if (rotated == 0) return;
    log_normal("{} jobs that hosts looked at in vain for {:.0f} s give way to others for a while", rotated,
               options_.rotate_after);
    fill_empty_slots(now);
}

void Feeder::report_starvation(double now) {
    if (options_.starvation_after <= 0 || !starvation_report_.take(now)) return;
    const auto found = starvation_.find(mirror_, array_, now, options_.starvation_after);
    if (!found) return;
    JobSummary job;
    SlotRef ref;
    if (array_.read(static_cast<std::uint32_t>(found->slot), job, ref) != SlotState::kPresent) return;
    const App* app = tables_.app(job.app_id);
    const std::optional<HostFit> fit =
        store_.hosts_that_fit(job.rsc_memory_bound, job.rsc_disk_bound, static_cast<std::int64_t>(now) - 86400);
    log_warning("{}", starvation_text(*found, job, app != nullptr ? app->name : std::to_string(job.app_id), fit));
}

std::string Feeder::state_text() const {
    const JobArrayStats s = array_.stats();
    std::string text = fmt::format(
        "feeder: {}, {} present, {} claimed, {} empty of {} slots; segment {:.1f} MB, tables generation {}\n"
        "database: {}\n",
        ready_ ? "ready" : "not ready", s.present, s.claimed, s.empty, s.slots,
        static_cast<double>(s.segment_bytes) / 1e6, s.table_generation, trouble_.empty() ? "connected" : trouble_);
    if (!chain_) return text;
    text += fmt::format(
        "since the start: {} added, {} taken, {} withdrawn ({} rotated, {} purged), {} not needed, {} given back\n",
        total_.added + tally_.added, total_.taken + tally_.taken, total_.withdrawn + tally_.withdrawn,
        total_.rotated + tally_.rotated, total_.purged + tally_.purged, total_.not_needed + tally_.not_needed,
        total_.reclaimed + tally_.reclaimed);
    const Enumerator& e = chain_->enumerator;
    text += fmt::format("{} jobs waiting, {} resting, {} rows read, {}\n", e.backlog().size(), e.resting(),
                        e.rows_read(), e.cycle_running() ? "walking" : "not walking");
    for (const auto& [stream, n] : e.backlog().lengths()) {
        text += fmt::format("  waiting: app {} user {} part {} HR class {}: {}\n", stream.app, stream.user, stream.part,
                            stream.hr_class, n);
    }
    const double now = env_.clock.now();
    for (std::size_t i = 0; i < mirror_.size(); ++i) {
        const HeldJob& job = mirror_.at(i);
        if (!job.held) continue;
        text +=
            fmt::format("  slot {}: [RESULT#{}] [WU#{}] app {} priority {} for {:.0f} s, passed over {} times\n", i,
                        job.queued.row.id, job.queued.row.workunit_id, job.queued.row.app_id, job.queued.row.priority,
                        now - job.since, array_.passed_over_count(static_cast<std::uint32_t>(i)));
    }
    return text;
}

}  // namespace sluice
