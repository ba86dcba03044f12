#pragma once
// The INACTIVE results of an app, kept in memory by size class and batch: no index has them so.
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "sluice/db/size_store.h"

namespace sluice {

/// Results with ids up to so many below the highest one may still be in transactions that are open.
inline constexpr Id kIdOverlap = 20000;

class InactiveStock {
  public:
    explicit InactiveStock(Id appid) : appid_(appid) {}
    Id app() const { return appid_; }
    /// Reads those made since the last time: two statements.
    void read(Database& db);
    /// The next read() is of all.
    void forget();
    /// What it holds, with what is UNSENT: one statement.
    std::vector<ClassQueue> queues(Database& db) const;
    /// The least ids, at most as many as are wanted.
    std::vector<Id> first(const QueueRelease& wanted) const;
    /// They are INACTIVE no longer.
    void remove(const QueueRelease& queue, const std::vector<Id>& ids);

  private:
    using Key = std::pair<int, Id>;  ///< size class, batch
    Id appid_, read_up_to_ = 0;
    std::map<Key, std::set<Id>> waiting_;
};

}  // namespace sluice
