// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The INACTIVE results of an app by size class and batch, of each the least ids: no index has them so.
#include <map>
#include <utility>
#include <vector>

#include "sluice/db/size_store.h"

namespace sluice {

/// Results with ids up to so many below the highest one may still be in transactions that are open.
inline constexpr Id kIdOverlap = 20000;

class InactiveStock {
  public:
    /// `kept`: ids of a class and batch in memory, 8 bytes each, however many there are.
    explicit InactiveStock(Id appid, std::size_t kept = 10000) : appid_(appid), kept_(kept) {}
    Id app() const { return appid_; }
    /// Reads those made since the last time: two statements. A class and batch with fewer than `least` left here, and
    /// more in the table, gets the next ones: a statement each, kMostRefills at most.
    void read(Database& db, std::int64_t least);
    /// The next read() is of all.
    void forget();
    /// What it holds, with what is UNSENT: one statement.
    std::vector<ClassQueue> queues(Database& db) const;
    /// The least ids, at most as many as are wanted.
    std::vector<Id> first(const QueueRelease& wanted) const;
    /// They are INACTIVE no longer.
    void remove(const QueueRelease& queue, const std::vector<Id>& ids);

  private:
    static constexpr int kMostRefills = 20;
    using Key = std::pair<int, Id>;  ///< size class, batch
    struct Waiting {
        std::vector<Id> ids;  ///< ascending
        bool more = false;    ///< there are others, with ids above `end`
        Id end = 0;
    };
    std::size_t most(std::int64_t least) const;
    static void add(Waiting& queue, Id id, std::size_t most);
    void refill(Database& db, const Key& key, Waiting& queue, std::size_t most) const;

    Id appid_, read_up_to_ = 0;
    std::size_t kept_;
    std::map<Key, Waiting> waiting_;
};

}  // namespace sluice
