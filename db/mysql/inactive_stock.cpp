#include "db/mysql/inactive_stock.h"

#include <algorithm>

namespace sluice {

void InactiveStock::read(Database& db) {
    Rows highest = db.query(Sql("SELECT MAX(id) FROM result"));
    const Id newest = highest.next() ? highest.i64(0) : 0;
    Sql sql("SELECT id, size_class, batch FROM result FORCE INDEX (res_app_state) WHERE server_state=1 AND appid=");
    sql << appid_;
    if (read_up_to_ > 0) sql << " AND id>" << read_up_to_;
    db.query_streaming(sql, [&](const Rows& r) { waiting_[{r.i32(1), r.i64(2)}].insert(r.i64(0)); });
    read_up_to_ = std::max<Id>(0, newest - kIdOverlap);
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
    for (const auto& [key, ids] : waiting_) queue_of(key).inactive = static_cast<std::int64_t>(ids.size());
    std::vector<ClassQueue> found;
    for (const auto& [key, queue] : all) found.push_back(queue);
    return found;
}

std::vector<Id> InactiveStock::first(const QueueRelease& wanted) const {
    std::vector<Id> ids;
    const auto queue = waiting_.find({wanted.size_class, wanted.batch});
    if (queue == waiting_.end()) return ids;
    for (const Id id : queue->second) {
        if (static_cast<std::int64_t>(ids.size()) >= wanted.wanted) break;
        ids.push_back(id);
    }
    return ids;
}

void InactiveStock::remove(const QueueRelease& queue, const std::vector<Id>& ids) {
    const auto at = waiting_.find({queue.size_class, queue.batch});
    if (at == waiting_.end()) return;
    for (const Id id : ids) at->second.erase(id);
    if (at->second.empty()) waiting_.erase(at);
}

}  // namespace sluice
