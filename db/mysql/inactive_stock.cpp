// SPDX-License-Identifier: LGPL-3.0-or-later
#include "db/mysql/inactive_stock.h"

#include <algorithm>

namespace sluice {

std::size_t InactiveStock::most(std::int64_t least) const {
    return std::max(kept_, static_cast<std::size_t>(std::max<std::int64_t>(least, 1)));
}

/// Ids come in order, but for those whose transactions ended late.
void InactiveStock::add(Waiting& queue, Id id, std::size_t most) {
    if (queue.more && id > queue.end) return;
    const auto at = std::ranges::lower_bound(queue.ids, id);
    if (at != queue.ids.end() && *at == id) return;
    queue.ids.insert(at, id);
    if (queue.ids.size() <= most) return;
    queue.ids.pop_back();
    queue.more = true;
    queue.end = queue.ids.back();
}

void InactiveStock::read(Database& db, std::int64_t least) {
    Rows highest = db.query(Sql("SELECT MAX(id) FROM result"));
    const Id newest = highest.next() ? highest.i64(0) : 0;
    Sql sql("SELECT id, size_class, batch FROM result FORCE INDEX (res_app_state) WHERE server_state=1 AND appid=");
    sql << appid_;
    if (read_up_to_ > 0) sql << " AND id>" << read_up_to_;
    const std::size_t most_here = most(least);
    db.query_streaming(sql << " ORDER BY id", [&](const Rows& r) {
        add(waiting_[{r.i32(1), r.i64(2)}], r.i64(0), most_here);
    });
    read_up_to_ = std::max<Id>(0, newest - kIdOverlap);
    int refills = 0;
    for (auto& [key, queue] : waiting_)
        if (queue.more && static_cast<std::int64_t>(queue.ids.size()) < least && ++refills <= kMostRefills)
            refill(db, key, queue, most_here);
    std::erase_if(waiting_, [](const auto& w) { return w.second.ids.empty() && !w.second.more; });
}

/// The index of batches gives the next ones at once; of jobs without a batch, among which all old ones are, the other.
void InactiveStock::refill(Database& db, const Key& key, Waiting& queue, std::size_t most) const {
    const auto& [size_class, batch] = key;
    Sql sql("SELECT id FROM result ");
    sql << (batch > 0 ? SqlLiteral("FORCE INDEX (res_batch) ") : SqlLiteral("FORCE INDEX (res_app_state) "))
        << "WHERE server_state=1 AND appid=" << appid_ << " AND batch=" << batch << " AND size_class=" << size_class
        << " AND id>" << queue.end << " ORDER BY id LIMIT " << static_cast<Id>(most);
    std::size_t found = 0;
    for (Rows r = db.query(sql); r.next(); ++found) queue.ids.push_back(r.i64(0));
    queue.more = found == most;
    if (queue.more) queue.end = queue.ids.back();
}

void InactiveStock::forget() {
    read_up_to_ = 0;
    waiting_.clear();
}

std::vector<ClassQueue> InactiveStock::queues(Database& db) const {
    std::map<Key, ClassQueue> all;
    const auto queue_of = [&](const Key& key) -> ClassQueue& {
        return all.try_emplace(key, ClassQueue{key.first, key.second}).first->second;
    };
    Sql sql("SELECT size_class, batch, COUNT(*) FROM result WHERE server_state=2 AND appid=");
    for (Rows r = db.query(sql << appid_ << " GROUP BY size_class, batch"); r.next();)
        queue_of({r.i32(0), r.i64(1)}).unsent = r.i64(2);
    for (const auto& [key, queue] : waiting_) queue_of(key).inactive = static_cast<std::int64_t>(queue.ids.size());
    std::vector<ClassQueue> found;
    for (const auto& [key, queue] : all) found.push_back(queue);
    return found;
}

std::vector<Id> InactiveStock::first(const QueueRelease& wanted) const {
    const auto queue = waiting_.find({wanted.size_class, wanted.batch});
    if (queue == waiting_.end() || wanted.wanted <= 0) return {};
    const std::vector<Id>& ids = queue->second.ids;
    const auto n = std::min(static_cast<std::ptrdiff_t>(ids.size()), static_cast<std::ptrdiff_t>(wanted.wanted));
    return {ids.begin(), ids.begin() + n};
}

void InactiveStock::remove(const QueueRelease& queue, const std::vector<Id>& ids) {
    const auto at = waiting_.find({queue.size_class, queue.batch});
    if (at == waiting_.end()) return;
    std::erase_if(at->second.ids, [&](Id id) { return std::ranges::binary_search(ids, id); });
}

}  // namespace sluice
