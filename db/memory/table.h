// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A table in memory: rows by key, an index that is kept as rows change, and the undoing of a transaction.
#include <algorithm>
#include <map>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "db/memory/row_map.h"

namespace sluice {

/// Of a table whose rows are found by their keys alone.
struct NoIndex {
    struct Place {
        bool operator==(const Place&) const = default;
    };
    static Place place(const auto&) { return {}; }
    static bool same_names(const auto&, const auto&) { return true; }
    void move(const auto&, const Place&, const Place&) {}
    void add(const auto&) {}
    void remove(const auto&) {}
};

/// An `Index` has add(row) and remove(row). What it finds rows by is of two kinds: the row's place(), numbers and
/// states, which change() may change (then move(row, before, after) is called), and its names, which only put() may;
/// same_names(row, row) compares those.
template <typename Key, typename Row, typename Index = NoIndex>
class Table {
  public:
    using Map = std::conditional_t<std::is_same_v<Key, Id>, RowMap<Row>, std::map<Key, Row>>;

    const Map& rows() const { return rows_; }
    const Row* get(const Key& key) const {
        if constexpr (std::is_same_v<Key, Id>) {
            return rows_.get(key);
        } else {
            const auto at = rows_.find(key);
            return at == rows_.end() ? nullptr : &at->second;
        }
    }
    const Index& index() const { return index_; }
    /// Higher than every key that there was.
    Key next_key() const { return last_ + 1; }

    // ---- writing, of stores
    void put(const Key& key, Row row) {
        Row* there = own(key);
        if (recording_) undo_.emplace_back(key, there == nullptr ? std::nullopt : std::optional(*there));
        if (there == nullptr) {
            rows_.try_emplace(key, std::move(row));
            index_.add(*get(key));
            if constexpr (requires { key + 1; }) last_ = std::max(last_, key);
        } else if (Index::same_names(*there, row)) {
            const auto before = Index::place(*there);
            *there = std::move(row);
            const auto after = Index::place(*there);
            if (!(before == after)) index_.move(*there, before, after);
        } else {
            index_.remove(*there);
            *there = std::move(row);
            index_.add(*there);
        }
    }
    /// False if there is no such row. `how` gets a Row&; it leaves the row's names alone.
    template <typename How>
    bool change(const Key& key, How&& how) {
        Row* there = own(key);
        if (there == nullptr) return false;
        if (recording_) undo_.emplace_back(key, *there);
        const auto before = Index::place(*there);
        how(*there);
        const auto after = Index::place(*there);
        if (!(before == after)) index_.move(*there, before, after);
        return true;
    }
    void remove(const Key& key) {
        const Row* there = own(key);
        if (there == nullptr) return;
        if (recording_) undo_.emplace_back(key, *there);
        index_.remove(*there);
        rows_.erase(key);
    }
    void begin_transaction() { recording_ = true; }
    void end_transaction(bool keep) {
        recording_ = false;
        if (!keep)
            for (auto undo = undo_.rbegin(); undo != undo_.rend(); ++undo) {
                if (undo->second)
                    put(undo->first, std::move(*undo->second));
                else
                    remove(undo->first);
            }
        undo_.clear();
    }

  private:
    Row* own(const Key& key) { return const_cast<Row*>(std::as_const(*this).get(key)); }
    Map rows_;
    Index index_;
    bool recording_ = false;
    Key last_{};
    std::vector<std::pair<Key, std::optional<Row>>> undo_;
};

}  // namespace sluice
