// SPDX-License-Identifier: LGPL-3.0-or-later
#include "feeder/enumerator.h"

#include <algorithm>
#include <utility>

namespace sluice {
namespace {

constexpr double kPeekInterval = 1, kDeepInterval = 0.1;
/// Between two cycles, and what each row of the last one (a few microseconds of the database's time) adds to that.
constexpr double kIdleInterval = 5, kIdleSecondsPerRow = 1e-4;
constexpr double kLeftToOthers = 60;
constexpr double kHungryInterval = 0.5, kHungrySecondsPerRow = 1e-5;  ///< the latter while cycles find something

}  // namespace

Enumerator::Enumerator(EnumeratorSettings settings, FeederStore& store, Rng& rng, std::function<bool(Id)> held)
    : settings_(std::move(settings)), store_(store), rng_(rng), held_(std::move(held)) {
    settings_.backlog = std::max(settings_.backlog, 4 * settings_.slots);
}

void Enumerator::set_apps(const std::vector<Id>& apps) {
    const FeederOptions& o = settings_.options;
    if (&apps != &apps_in_order_) apps_in_order_ = apps;
    apps_.clear();
    for (const Id app : apps) {
        if (o.appids.empty() || std::find(o.appids.begin(), o.appids.end(), app) != o.appids.end()) apps_.insert(app);
    }
    UnsentFilter filter;
    filter.share = o.share, filter.workunit_share = o.workunit_share;
    filter.part = part_;
    filter.with_hr_class = settings_.hr_quotas;
    walkers_.clear();
    if (o.allapps || !o.appids.empty()) {
        // One walk an app, by an index that begins with the app: the jobs of others cost nothing.
        for (const Id app : apps) {
            if (apps_.count(app) == 0) continue;
            Walker& w = walkers_.emplace_back();
            w.filter = filter;
            w.filter.appids = {app};
            w.order = WalkOrder::kById;
        }
    } else {
        Walker& w = walkers_.emplace_back();
        w.filter = filter;
        w.order = o.order == FeederOrder::kPriorityAsc ? WalkOrder::kPriorityUp : WalkOrder::kPriorityDown;
    }
    backlog_.clear();
    cycle_running_ = surveyed_ = false;
    next_peek_ = next_deep_ = 0;
}

void Enumerator::set_part(const FeederPart& part) {
    if (std::exchange(part_, part) != part) set_apps(apps_in_order_);
}

void Enumerator::keep_batches_apart(bool apart) {
    if (std::exchange(batches_apart_, apart) != apart) set_apps(apps_in_order_);
}

QueuedJob Enumerator::queued_job_of(const UnsentRow& row) {
    const FeederOptions& o = settings_.options;
    QueuedJob c;
    c.row = row;
    if (o.allapps) c.stream.app = row.app_id;
    if (o.order == FeederOrder::kByBatch || batches_apart_) c.stream.part = row.batch;
    if (o.order == FeederOrder::kBatchAccel) c.stream.part = row.priority > 0 ? 1 : 0;
    if (settings_.hr_quotas) c.stream.hr_class = row.hr_class;
    if (!o.users.empty()) {
        const auto owner = owner_of_batch_.find(row.batch);
        c.stream.user = owner == owner_of_batch_.end() ? 0 : owner->second;
    }
    set_place(c, o.order, o.order == FeederOrder::kRandom ? rng_.uniform() : 0);
    return c;
}

void Enumerator::rest(Id result, double until, bool may_return_early) { rests_[result] = {until, may_return_early}; }

bool Enumerator::is_resting(const UnsentRow& row) const {
    const auto rest = rests_.find(row.id);
    if (rest == rests_.end() || rest->second.until <= now_) return false;
    const bool wanted = hungry_ && (!lack_.for_row || lack_.for_row(row));
    return !(rest->second.may_return_early && wanted);
}

void Enumerator::drop_expired_rests() {
    std::erase_if(rests_, [&](const auto& r) { return r.second.until <= now_; });
}

void Enumerator::learn_owners(const std::vector<UnsentRow>& rows) {
    if (settings_.options.users.empty()) return;
    std::unordered_set<Id> unknown;
    for (const UnsentRow& row : rows) {
        if (row.batch != 0 && owner_of_batch_.count(row.batch) == 0) unknown.insert(row.batch);
    }
    if (unknown.empty()) return;
    const std::vector<Id> batches(unknown.begin(), unknown.end());
    for (const auto& [batch, user] : store_.batch_owners(batches)) owner_of_batch_[batch] = user;
}

bool Enumerator::leaves_out(const UnsentRow& row) {
    if (!settings_.needs_batch || row.batch != 0) return false;
    if (left_out_.results.empty()) left_out_.first = row;
    if (left_out_.results.size() < kMostLeftOut) left_out_.results.insert(row.id);
    return true;
}

bool Enumerator::take_in(const UnsentRow& row) {
    if (held_(row.id)) return true;
    if (const QueuedJob* known = backlog_.find(row.id)) {
        if (known->row.priority == row.priority && known->row.hr_class == row.hr_class && known->row.batch == row.batch)
            return true;
        backlog_.remove(row.id);  // it changed its place
    }
    if (apps_.count(row.app_id) == 0 || leaves_out(row) || is_resting(row)) return false;
    const QueuedJob c = queued_job_of(row);
    const auto& users = settings_.options.users;
    if (!users.empty() && std::find(users.begin(), users.end(), c.stream.user) == users.end()) return false;
    rests_.erase(row.id);
    if (!hungry_ || !lack_.for_row || lack_.for_row(row)) found_more_ = true, futile_ = false;
    return backlog_.insert(c);
}

Enumerator::PageRead Enumerator::read_page(const Walker& walker, WalkPosition& at, int rows) {
    const auto page = store_.unsent_page(walker.filter, walker.order, at, rows);
    rows_read_ += page.size();
    learn_owners(page);
    PageRead read;
    for (const UnsentRow& row : page) read.useful += take_in(row) ? 1 : 0;
    if (!page.empty()) at = {true, page.back().priority, page.back().id};
    read.at_end = static_cast<int>(page.size()) < rows;
    return read;
}

bool Enumerator::full_cycle_is_due() const {
    if (!surveyed_ || now_ < full_cycle_ended_) return true;  // the first one, or the clock was set back
    return now_ >=
           full_cycle_ended_ + std::max(kIdleInterval, static_cast<double>(rows_of_full_cycle_) * kIdleSecondsPerRow);
}

bool Enumerator::cycle_is_due() const {
    if (full_cycle_is_due() || now_ < cycle_ended_) return true;
    if (!hungry_) return false;
    // Slots may stay empty for long (an app without jobs, an HR class without): looking for what is not there has its
    // price.
    const double per_row = found_more_ ? kHungrySecondsPerRow : kIdleSecondsPerRow;
    return now_ >= cycle_ended_ + std::max(kHungryInterval, static_cast<double>(rows_of_cycle_) * per_row);
}

void Enumerator::start_cycle() {
    cycle_running_ = true;
    partial_ = !full_cycle_is_due();
    found_more_ = false;
    rows_at_cycle_start_ = rows_read_;
    for (Walker& w : walkers_) {
        w.at = {};
        w.seen = 0;
        // The feeder whose part they are may be alive without being asked for jobs.
        w.filter.others_before = hungry_ && futile_ ? static_cast<std::int64_t>(now_ - kLeftToOthers) : 0;
        w.over = partial_ && w.filter.appids.size() == 1 && lack_.of_app && !lack_.of_app(w.filter.appids.front());
    }
    drop_expired_rests();
}

void Enumerator::end_cycle() {
    cycle_running_ = false;
    surveyed_ = true;
    cycle_ended_ = now_;
    futile_ = hungry_ && !found_more_;
    rows_of_cycle_ = rows_read_ - rows_at_cycle_start_;
    if (partial_) return;
    full_cycle_ended_ = now_;
    rows_of_full_cycle_ = rows_of_cycle_;
}

int Enumerator::page() const {
    return !surveyed_ || urgent() ? settings_.page : std::min(settings_.page, settings_.small_page);
}

/// The rows come best first where the order is the index's: then a few more than there are slots will do. Any other
/// order wants to have seen much, and so do jobs that wait for slots of their own.
std::size_t Enumerator::rows_before_first_fill() const {
    const FeederOptions& o = settings_.options;
    const bool by_priority = o.order == FeederOrder::kDefault || o.order == FeederOrder::kPriority ||
                             o.order == FeederOrder::kPriorityAsc || o.order == FeederOrder::kShares;
    const bool best_first =
        by_priority && !batches_apart_ && !settings_.hr_quotas && !o.allapps && o.appids.empty() && o.users.empty();
    const std::size_t few = settings_.slots + settings_.slots / 4;
    return best_first ? std::min(few, settings_.rows_before_first_fill) : settings_.rows_before_first_fill;
}

void Enumerator::go_on_with_cycle() {
    const std::size_t share = settings_.backlog / std::max<std::size_t>(1, walkers_.size()) + settings_.slots;
    const std::uint64_t before = rows_read_;
    // Looked at anew behind each page: a cycle becomes urgent when it finds jobs where the last one found none.
    const auto goes_on = [&] {
        const std::size_t rows = !surveyed_ ? rows_before_first_fill()
                                 : urgent() ? settings_.rows_a_hungry_turn
                                            : settings_.rows_a_turn;
        return rows_read_ - before < rows;
    };
    for (Walker& w : walkers_) {
        while (!w.over && goes_on()) {
            const PageRead read = read_page(w, w.at, page());
            w.seen += read.useful;
            w.over = read.at_end || w.seen >= share;
            if (w.over && !read.at_end && !w.deep.begun) w.deep = w.at;
        }
    }
    backlog_.trim(settings_.backlog);
    if (std::all_of(walkers_.begin(), walkers_.end(), [](const Walker& w) { return w.over; })) {
        end_cycle();
    } else if (!goes_on()) {
        surveyed_ = true;  // far enough for a first fill; the cycle goes on in the next turns
    }
}

/// New jobs of high priority stand in front: only where there are some is more looked at.
void Enumerator::peek_at_head() {
    const int rows = std::min(settings_.head, page());
    for (const Walker& w : walkers_) {
        if (w.order == WalkOrder::kById) continue;  // by id there is no head
        WalkPosition head;
        std::size_t known = 0;
        for (int seen = 0; seen < settings_.head && (seen == 0 || backlog_.size() > known); seen += rows) {
            known = backlog_.size();
            read_page(w, head, rows);
        }
    }
}

void Enumerator::go_deeper() {
    for (std::size_t tried = 0; tried < walkers_.size(); ++tried) {
        Walker& w = walkers_[deep_walker_++ % walkers_.size()];
        if (!w.deep.begun) continue;
        if (read_page(w, w.deep, page()).at_end) w.deep = {};  // the next cycle says where to begin anew
        backlog_.trim(settings_.backlog);
        return;
    }
}

void Enumerator::turn(double now, bool hungry) {
    now_ = now;
    if (!hungry || !hungry_) futile_ = false;
    hungry_ = hungry;
    if (!cycle_running_ && cycle_is_due()) start_cycle();
    if (cycle_running_) return go_on_with_cycle();
    if (now >= next_peek_ || next_peek_ > now + kPeekInterval) {
        next_peek_ = now + kPeekInterval;
        peek_at_head();
    }
    if (now >= next_deep_ || next_deep_ > now + kDeepInterval) {
        next_deep_ = now + kDeepInterval;
        go_deeper();
    }
}

}  // namespace sluice
