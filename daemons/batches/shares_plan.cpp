// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/batches/shares_plan.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace sluice {
namespace {

constexpr double kPriorJobs = 5;     ///< weight of "estimates are right"
constexpr double kSpeedStep = 0.05;  ///< smaller changes of the project's speed are not worth writing every tag anew

double finite(double v) { return std::isfinite(v) ? v : 0; }
double not_negative(double v) { return std::max(finite(v), 0.0); }

/// Measured over estimated.
double correction(const BatchWork& w) {
    const double estimated = not_negative(w.estimated_successes), measured = not_negative(w.measured_successes);
    if (w.successes <= 0 || estimated <= 0) return 1;
    const double prior = kPriorJobs * estimated / static_cast<double>(w.successes);
    return (measured + prior) / (estimated + prior);
}

/// Operations that it has used, in all its stays.
double used(const BatchWork& w) { return not_negative(w.measured) + not_negative(w.lost) * correction(w); }

bool has_quota(const ShareBook& book, Id user) {
    const auto found = book.clock.users().find(user);
    return found != book.clock.users().end() && found->second.quota > 0;
}

/// The speed that the book counts by. With its first credits a project turns out many times faster than assumed.
/// Earlier charges must not weigh that many times too much.
double follow_speed(ShareBook& book, double project_flops) {
    const double flops =
        std::isfinite(project_flops) ? std::max(project_flops, kLeastProjectFlops) : kLeastProjectFlops;
    if (book.flops > 0 && std::abs(flops / book.flops - 1) <= kSpeedStep) return book.flops;
    if (book.flops > 0) book.clock.rescale(book.flops / flops);
    return book.flops = flops;
}

double in_project_seconds(double operations, double project_flops) {
    const double seconds = operations / std::max(project_flops, kLeastProjectFlops);
    return std::isfinite(seconds) ? std::clamp(seconds, -kMostSeconds, kMostSeconds) : 0;
}

/// What was sent of it while it was being filled is charged already.
double charged_run_time(const ShareBook& book, BatchWork work, double project_flops) {
    const auto stream = book.streams.find(work.id);
    if (stream != book.streams.end()) work.charged += stream->second.charged;
    return run_time(work, project_flops);
}

/// True: its user was charged, or it began or stopped to wait.
bool settle_stream(ShareBook& book, const BatchWork& w, double project_flops, double now) {
    const StreamWork& work = *w.stream;
    const auto [at, is_new] = book.streams.try_emplace(w.id);
    StreamCharge& kept = at->second;
    if (is_new && w.id == kWithoutBatch) kept.until = work.until, book.measured[w.id] = 0;
    if (kept.until != work.until) return false;  // another pass was quicker: what was measured is counted already
    const StreamCharge before = kept;
    const double corrected = correction(w);
    const auto operations = [&](double measured, double estimated) {
        return not_negative(measured) + finite(estimated) * corrected;
    };
    kept.user_id = w.user_id;
    kept.kept += operations(work.settled, work.settled_lost);
    kept.until = work.next_until;
    kept.waits = work.waiting > 0;
    const double jobs = std::max(1.0, static_cast<double>(work.open_jobs));
    kept.head = in_project_seconds(operations(0, w.open) / jobs, project_flops);
    const double all = kept.kept + operations(work.recent, work.recent_lost) + operations(0, work.running);
    kept.charged = all;
    // Who has no quota has his jobs done when nobody else wants to: that is not charged.
    if (has_quota(book, w.user_id)) {
        if (kept.waits) book.clock.stream(now, w.user_id, true);
        if (all != before.charged)
            book.clock.charge(now, w.user_id, in_project_seconds(all - before.charged, project_flops));
    }
    return before.charged != kept.charged || before.waits != kept.waits;
}

/// Those of batches that are not streams any more wait no more.
int settle_streams(ShareBook& book, const std::vector<BatchWork>& works, double project_flops, double now) {
    int changed = 0;
    std::set<Id> streams, waiting_users;
    for (const BatchWork& w : works) {
        if (!w.stream || book.clock.has(w.id)) continue;  // it has begun since it was looked at: its user was charged
        streams.insert(w.id);
        changed += settle_stream(book, w, project_flops, now);
    }
    if (!streams.contains(kWithoutBatch)) book.streams.erase(kWithoutBatch);  // nobody's: charges stay as they are
    for (auto& [batch, kept] : book.streams) {
        if (streams.count(batch) == 0) kept.waits = false;
        if (kept.waits) waiting_users.insert(kept.user_id);
    }
    const auto users = book.clock.users();
    for (const auto& [user, tags] : users)
        if (tags.streaming && waiting_users.count(user) == 0 && tags.quota > 0) book.clock.stream(now, user, false);
    return changed;
}

/// What was used since the last pass, for the page that shows users what they got.
void give_to_day(ShareBook& book, const BatchWork& w) {
    const StreamWork stream = w.stream.value_or(StreamWork{});
    const double all =
        w.stream ? book.streams[w.id].kept + not_negative(stream.recent) + finite(stream.recent_lost) : used(w);
    double& known = book.measured[w.id];
    if (!(all > known)) return;  // the same, or rows are purged
    book.given[w.user_id] += all - known;
    known = all;
}

/// Users whose quota is gone: their batches end for the clock, charged for what was measured. The batches ended.
int let_go(ShareBook& book, const std::vector<BatchWork>& works, double project_flops, double now) {
    int finished = 0;
    const auto users = book.clock.users();
    for (const auto& [user, tags] : users) {
        const auto quota = book.quotas.find(user);
        if (!(tags.quota > 0) || (quota != book.quotas.end() && quota->second > 0)) continue;
        for (const BatchWork& w : works) {
            if (w.user_id != user || !book.clock.has(w.id) || book.clock.batch(w.id).finished) continue;
            BatchWork over = w;
            over.state = BatchState::kAborted;
            finish(book, over, project_flops);
            ++finished;
        }
        book.clock.leave(now, user);
    }
    return finished;
}

}  // namespace

double run_time(const BatchWork& w, double project_flops) {
    double operations = used(w) - not_negative(w.charged);
    if (w.state == BatchState::kInProgress) operations += not_negative(w.open) * correction(w);
    const double seconds = operations / std::max(project_flops, kLeastProjectFlops);
    return std::isfinite(seconds) ? std::clamp(seconds, kLeastSeconds, kMostSeconds) : kMostSeconds;
}

double flops_of(const ProjectSpeed& speed, double now) {
    constexpr double kDay = 86400, kHalfLife = 7 * kDay;
    return speed.flops / -std::expm1(-std::log(2) * std::max(now - speed.since, kDay) / kHalfLife);
}

bool admit(ShareBook& book, const BatchWork& work, double project_flops, double now) {
    if (book.clock.has(work.id)) return true;
    if (!has_quota(book, work.user_id)) return false;
    const double seconds = charged_run_time(book, work, follow_speed(book, project_flops));
    if (const auto stream = book.streams.find(work.id); stream != book.streams.end()) stream->second.waits = false;
    const bool charged = !work.known && work.logical_end_time > 0;
    const auto own = book.own_lst.find(work.user_id);
    if (charged && own == book.own_lst.end()) {
        book.clock.adopt(work.user_id, work.id, seconds, work.logical_end_time);
        return true;
    }
    const auto lst = [&] { return book.clock.users().at(work.user_id).lst; };
    if (charged) book.clock.charge(now, work.user_id, (own->second - lst()) * book.clock.share(work.user_id));
    book.clock.submit(now, work.user_id, work.id, seconds);
    if (charged) own->second = lst();
    return true;
}

namespace {

/// A batch in progress that the clock does not have.
void admit_new(ShareBook& book, const BatchWork& w, double project_flops, double now, ShareOutcome& done) {
    if (w.unfinished) return;  // it has ended since it was looked at, and is charged for that already
    if (admit(book, w, project_flops, now))
        ++(!w.known && w.logical_end_time > 0 ? done.adopted : done.admitted);
    else
        done.without_quota.push_back(w.id);
}

}  // namespace

ShareOutcome admit_all(ShareBook& book, const std::vector<BatchWork>& works, double project_flops, double now) {
    ShareOutcome done;
    for (const BatchWork& w : works)
        if (w.state == BatchState::kInProgress && !book.clock.has(w.id)) admit_new(book, w, project_flops, now, done);
    return done;
}

void finish(ShareBook& book, const BatchWork& work, double project_flops) {
    if (!book.clock.has(work.id) || book.clock.batch(work.id).finished) return;
    const double seconds = work.purged ? book.clock.batch(work.id).seconds
                                       : charged_run_time(book, work, follow_speed(book, project_flops));
    book.clock.finish(work.id, seconds);
    // Of one that is purged nothing: what it measures when it comes back is new.
    const auto stream = book.streams.find(work.id);
    book.charged[work.id] = used(work) - (stream == book.streams.end() ? 0 : stream->second.charged);
}

std::vector<BatchWork> all_works(ShareStore& store, const ShareSettings& settings, double now) {
    std::vector<BatchWork> all = store.works(now);
    if (settings.owner_without_batch != 0) all.push_back(store.work_without_batch(now, settings.owner_without_batch));
    return all;
}

ShareOutcome settle_all(ShareBook& book, const std::vector<BatchWork>& works, double project_flops, double now) {
    ShareOutcome done;
    project_flops = follow_speed(book, project_flops);
    done.finished += let_go(book, works, project_flops, now);
    done.streams = settle_streams(book, works, project_flops, now);
    for (const BatchWork& w : works) {
        give_to_day(book, w);
        if (w.stream) continue;
        if (w.state != BatchState::kInProgress) {
            if (!book.clock.has(w.id) || book.clock.batch(w.id).finished) continue;
            finish(book, w, project_flops);
            ++done.finished;
        } else if (book.clock.has(w.id) && !book.clock.batch(w.id).finished) {
            const double seconds = charged_run_time(book, w, project_flops);
            if (seconds == book.clock.batch(w.id).seconds) continue;
            book.clock.settle(w.id, seconds);
            ++done.settled;
        } else {
            admit_new(book, w, project_flops, now, done);
        }
    }
    std::set<Id> sent;
    for (const BatchWork& w : works)
        if (!w.waits) sent.insert(w.id);
    book.clock.all_sent(now, sent);
    return done;
}

}  // namespace sluice
