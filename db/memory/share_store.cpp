// SPDX-License-Identifier: LGPL-3.0-or-later
#include "db/memory/share_store.h"

#include <algorithm>
#include <limits>

#include "db/store_rules.h"

namespace sluice {
namespace {

/// Of the batch. Those without one are in no index.
template <typename Rows, typename Visit>
void for_each_of_batch(const Rows& rows, Id batch, Visit visit) {
    if (batch == kWithoutBatch) {
        for (const auto& [id, row] : rows.rows())
            if (row.batch == kWithoutBatch) visit(row);
        return;
    }
    const auto at = rows.index().of_batch.find(batch);
    if (at == rows.index().of_batch.end()) return;
    for (const Id id : at->second) visit(*rows.get(id));
}

bool never_came_back(const Result& r) {
    // What was given up may say later that it was aborted.
    return (r.outcome == Outcome::kNoReply && r.received_time == 0) || r.outcome == Outcome::kClientDetached;
}

/// As the other store does it: lost at the deadline, known an hour later; what comes back after that is given back.
void add_to_stream(StreamWork& s, const Result& r, double flops, double estimate) {
    const auto received = static_cast<double>(r.received_time), deadline = static_cast<double>(r.report_deadline);
    const bool over = r.server_state == ServerState::kOver;
    const bool late = deadline > 0 && received > deadline + kSettledAfter;
    const bool gone = received == 0 && (r.server_state == ServerState::kInProgress || never_came_back(r));
    const double over_at = received > 0 ? received : deadline, from = std::min(s.until, s.next_until);
    if (over && over_at > from) (over_at <= s.next_until ? s.settled : s.recent) += flops;
    if ((late || gone) && deadline > from && (over || deadline <= s.next_until))
        (deadline <= s.next_until ? s.settled_lost : s.recent_lost) += estimate;
    if (late && over_at > from) (over_at <= s.next_until ? s.settled_lost : s.recent_lost) -= estimate;
    if (r.server_state == ServerState::kInProgress && deadline > s.next_until) s.running += estimate;
    s.waiting += r.server_state == ServerState::kInactive || r.server_state == ServerState::kUnsent;
}

double measured(const Result& r, const Host* host) {
    return measured_operations(r, host == nullptr ? 0 : host->p_fpops);
}

}  // namespace

ProjectSpeed MemoryShareStore::project_speed(double now) {
    double credit = 0;
    for (const auto& [id, v] : db_.versions.rows())
        if (v.expavg_time > now - 30 * 86400.0) credit += v.expavg_credit;
    return {credit * kFlopsPerDailyCredit, since};
}

std::optional<UserQuota> MemoryShareStore::quota(Id user) {
    const auto found = quotas.find(user);
    if (found == quotas.end()) return std::nullopt;
    double total = 0;
    for (const auto& [id, quota] : quotas) total += std::max(quota, 0.0);
    return UserQuota{found->second, total};
}

double MemoryShareStore::advance(Id user, double now, double delta, bool write) {
    const auto known = state_.users.find(user);
    const double lst = std::max(known == state_.users.end() ? 0 : known->second.lst, now) + delta;
    if (write && quotas.contains(user)) state_.users[user].lst = lst, state_.users[user].known = true;
    return lst;
}

void MemoryShareStore::read_workunits(BatchWork& work) const {
    work.purged = true;
    for_each_of_batch(db_.workunits, work.id, [&](const Workunit& w) {
        work.purged = false;
        if (w.canonical_resultid != 0 || w.error_mask != 0) return;
        work.open += usable_estimate(w.rsc_fpops_est) * w.target_nresults;
        if (work.stream) ++work.stream->open_jobs;
    });
}

void MemoryShareStore::read_results(BatchWork& work) const {
    for_each_of_batch(db_.results, work.id, [&](const Result& r) {
        const Workunit* const w = db_.workunits.get(r.workunitid);
        const double estimate = w == nullptr ? 0 : usable_estimate(w->rsc_fpops_est);
        const double flops = measured(r, db_.hosts.get(r.hostid));
        work.waits |= r.server_state == ServerState::kInactive || r.server_state == ServerState::kUnsent;
        if (work.stream) add_to_stream(*work.stream, r, flops, estimate);
        if (r.server_state != ServerState::kOver) return;
        work.measured += flops;
        if (never_came_back(r)) work.lost += estimate;
        if (r.outcome == Outcome::kSuccess) {
            work.measured_successes += flops;
            work.estimated_successes += estimate;
            ++work.successes;
        }
    });
}

std::vector<BatchWork> MemoryShareStore::works(double now, std::optional<Id> only) {
    db_.enter("share.works");
    std::vector<Id> unfinished;
    for (const share::BatchTags& b : state_.batches) unfinished.push_back(b.id);
    std::sort(unfinished.begin(), unfinished.end());
    std::vector<BatchWork> all;
    for (const auto& [id, b] : db_.batches.rows()) {
        const bool is_stream = b.state == BatchState::kInit;
        const bool wanted = b.state == BatchState::kInProgress ||
                            std::binary_search(unfinished.begin(), unfinished.end(), id) ||
                            (is_stream && db_.workunits.index().of_batch.contains(id));
        if (only ? *only != id : !wanted) continue;
        BatchWork w;
        w.id = id;
        w.user_id = b.user_id;
        w.state = b.state;
        w.logical_end_time = b.logical_end_time;
        const auto charged = charged_.find(id);
        w.known = charged != charged_.end();
        w.unfinished = std::binary_search(unfinished.begin(), unfinished.end(), id);
        w.charged = w.known ? charged->second : 0;
        if (is_stream) {
            w.stream.emplace();
            const auto kept = streams_.find(id);
            if (kept != streams_.end()) w.stream->until = kept->second.until;
            w.stream->next_until = next_settled(w.stream->until, now);
        }
        read_workunits(w);
        read_results(w);
        all.push_back(w);
    }
    return all;
}

BatchWork MemoryShareStore::work_without_batch(double now, Id owner) {
    db_.enter("share.work_without_batch");
    BatchWork w = stream_without_batch(owner, now);
    if (const auto kept = streams_.find(w.id); kept != streams_.end()) w.stream->until = kept->second.until;
    w.stream->next_until = next_settled(w.stream->until, now);
    read_workunits(w);
    read_results(w);
    return w;
}

std::vector<Id> MemoryShareStore::without_place() {
    db_.enter("share.without_place");
    std::vector<Id> ids;
    for (const auto& [id, b] : db_.batches.rows()) {
        if (b.state != BatchState::kInProgress || id < db_.batches.next_key() - kMostLookedAt) continue;
        const auto quota = quotas.find(b.user_id);
        if (quota == quotas.end() || !(quota->second > 0)) continue;
        if (std::ranges::find(state_.batches, id, &share::BatchTags::id) == state_.batches.end()) ids.push_back(id);
    }
    return ids;
}

ShareBook MemoryShareStore::open_book(const ShareSettings& settings, double now) const {
    ShareBook book{
        share::LogicalClock(settings.rule, settings.clamp, state_), {}, {}, streams_, measured_, {}, flops_, {}};
    if (settings.rule == share::ShareRule::kSettled) book.own_lst = own_lst_;
    for (const auto& [user, quota] : quotas) book.quotas[user] = usable_quota(quota);
    take_quotas(book, now);
    return book;
}

void MemoryShareStore::look(const ShareSettings& settings, double now, const std::function<void(ShareBook&)>& work) {
    db_.enter("share.look");
    ShareBook book = open_book(settings, now);
    work(book);
}

void MemoryShareStore::change(const ShareSettings& settings, double now, const std::function<void(ShareBook&)>& work) {
    db_.enter("share.change");
    ShareBook book = open_book(settings, now);
    const auto users_before = state_.users;
    work(book);
    state_ = book.clock.state();
    for (const share::BatchTags& b : state_.batches) {
        charged_.try_emplace(b.id, 0);
        db_.batches.change(b.id, [&](Batch& row) {
            row.logical_start_time = b.start;
            row.logical_end_time = b.end;
        });
    }
    std::erase_if(state_.batches, [](const share::BatchTags& b) { return b.finished; });
    for (const auto& [batch, operations] : book.charged) charged_[batch] = operations;
    streams_ = std::move(book.streams);
    measured_ = std::move(book.measured);
    flops_ = book.flops;
    for (const auto& [id, user] : state_.users) {
        const auto before = users_before.find(id);
        const auto own = own_lst_.find(id);
        const bool is_new = before == users_before.end() || own == own_lst_.end();
        own_lst_[id] = is_new ? user.lst : next_own_lst(book, id, own->second, before->second.lst, user.lst);
    }
    for (const auto& [user, operations] : book.given)
        days_[{static_cast<std::int64_t>(now / 86400), user}] += operations;
    publish();
}

std::vector<DailyWork> MemoryShareStore::work_by_day(std::int64_t from_day) {
    std::vector<DailyWork> all;
    for (const auto& [key, operations] : days_)
        if (key.first >= from_day) all.push_back({key.first, key.second, operations});
    return all;
}

std::vector<ShareUser> MemoryShareStore::users() {
    std::vector<ShareUser> all;
    for (const auto& [id, quota] : quotas)
        if (const User* user = db_.users.get(id)) all.push_back({id, user->name, quota});
    return all;
}

void MemoryShareStore::publish() {
    constexpr double kLast = std::numeric_limits<double>::infinity();
    const auto quota_of = [&](Id user) {
        const auto found = quotas.find(user);
        return found == quotas.end() ? 0 : found->second;
    };
    db_.batch_shares.clear();
    db_.stream_heads.clear();
    std::map<Id, double> ends;
    for (const share::BatchTags& b : state_.batches) ends[b.id] = b.end;
    for (const auto& [id, b] : db_.batches.rows()) {
        const double quota = quota_of(b.user_id);
        if (b.state == BatchState::kInProgress) {
            const auto end = ends.find(id);
            db_.batch_shares[id] = {b.user_id, end == ends.end() ? kLast : end->second, quota};
        } else if (const auto stream = streams_.find(id); b.state == BatchState::kInit && stream != streams_.end()) {
            const double end = quota > 0 ? state_.users[b.user_id].lst + stream->second.head : kLast;
            db_.batch_shares[id] = {b.user_id, end, quota};
            db_.stream_heads[id] = stream->second.head;
        }
    }
    if (const auto stream = streams_.find(kWithoutBatch); stream != streams_.end()) {
        const Id owner = stream->second.user_id;
        const double quota = quota_of(owner);
        db_.batch_shares[kWithoutBatch] = {owner, quota > 0 ? state_.users[owner].lst + stream->second.head : kLast,
                                           quota};
        db_.stream_heads[kWithoutBatch] = stream->second.head;
    }
}

}  // namespace sluice
