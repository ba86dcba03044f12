#include "daemons/batch_shares/plan.h"

#include <algorithm>
#include <cmath>

namespace sluice {
namespace {

constexpr double kPriorJobs = 5;  ///< weight of "estimates are right"

double not_negative(double v) { return std::isfinite(v) ? std::max(v, 0.0) : 0; }

/// Measured over estimated.
double correction(const BatchWork& w) {
    const double estimated = not_negative(w.estimated_successes), measured = not_negative(w.measured_successes);
    if (w.successes <= 0 || estimated <= 0) return 1;
    const double prior = kPriorJobs * estimated / static_cast<double>(w.successes);
    return (measured + prior) / (estimated + prior);
}

/// Operations that it has used, in all its stays.
double used(const BatchWork& w) { return not_negative(w.measured) + not_negative(w.lost) * correction(w); }

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

bool admit(ShareBook& book, const BatchWork& work, double project_flops, double now) {
    if (book.clock.has(work.id)) return true;
    const auto& users = book.clock.users();
    const auto user = users.find(work.user_id);
    if (user == users.end() || !(user->second.quota > 0)) return false;
    const double seconds = run_time(work, project_flops);
    if (!work.known && work.logical_end_time > 0)
        book.clock.adopt(work.user_id, work.id, seconds, work.logical_end_time);
    else
        book.clock.submit(now, work.user_id, work.id, seconds);
    return true;
}

void finish(ShareBook& book, const BatchWork& work, double project_flops) {
    if (!book.clock.has(work.id) || book.clock.batch(work.id).finished) return;
    book.clock.finish(work.id, run_time(work, project_flops));
    book.charged[work.id] = used(work);
}

ShareOutcome settle_all(ShareBook& book, const std::vector<BatchWork>& works, double project_flops, double now) {
    ShareOutcome done;
    done.finished += let_go(book, works, project_flops, now);
    for (const BatchWork& w : works) {
        if (w.state != BatchState::kInProgress) {
            if (!book.clock.has(w.id) || book.clock.batch(w.id).finished) continue;
            finish(book, w, project_flops);
            ++done.finished;
        } else if (book.clock.has(w.id) && !book.clock.batch(w.id).finished) {
            const double seconds = run_time(w, project_flops);
            if (seconds == book.clock.batch(w.id).seconds) continue;
            book.clock.settle(w.id, seconds);
            ++done.settled;
        } else if (admit(book, w, project_flops, now)) {
            ++(!w.known && w.logical_end_time > 0 ? done.adopted : done.admitted);
        } else {
            done.without_quota.push_back(w.id);
        }
    }
    return done;
}

}  // namespace sluice
