#pragma once
// A table in memory: rows by key, an index that is kept as rows change, and the undoing of a transaction.
#include <algorithm>
#include <initializer_list>
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
/// same_names(row, row) compares those. Two ways to write: stores use put(), change() and remove(), which keep the
/// index. A caller that takes rows like those of a std::map (to set a project up, to play another process) may change
/// them at any later time too: from then on the index is made anew each time it is asked for. Copies are independent.
template <typename Key, typename Row, typename Index = NoIndex>
class Table {
  public:
    using Map = std::conditional_t<std::is_same_v<Key, Id>, RowMap<Row>, std::map<Key, Row>>;

    Table() = default;
    Table& operator=(std::initializer_list<typename Map::value_type> rows) {
        hand_out() = rows;
        return *this;
    }

    // ---- reading
    const Map& rows() const { return rows_; }
    const Row* get(const Key& key) const {
        if constexpr (std::is_same_v<Key, Id>) {
            return rows_.get(key);
        } else {
            const auto at = rows_.find(key);
            return at == rows_.end() ? nullptr : &at->second;
        }
    }
    const Index& index() const {
        if (handed_out_) {
            index_ = {};
            for (const auto& [key, row] : rows_) index_.add(row);
        }
        return index_;
    }
    /// Higher than every key that there was.
    Key next_key() const { return std::max(last_, rows_.empty() ? Key{} : rows_.rbegin()->first) + 1; }

    // ---- writing, of stores
    void put(const Key& key, Row row) {
        Row* there = own(key);
        if (recording_) undo_.emplace_back(key, there == nullptr ? std::nullopt : std::optional(*there));
        if (there == nullptr) {
            there = &rows_.try_emplace(key, std::move(row)).first->second;
            if (!handed_out_) index_.add(*there);
            if constexpr (requires { key + 1; }) last_ = std::max(last_, key);
        } else if (handed_out_ || Index::same_names(*there, row)) {
            const auto before = Index::place(*there);
            *there = std::move(row);
            const auto after = Index::place(*there);
            if (!handed_out_ && !(before == after)) index_.move(*there, before, after);
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
        if (!handed_out_ && !(before == after)) index_.move(*there, before, after);
        return true;
    }
    void remove(const Key& key) {
        const Row* there = own(key);
        if (there == nullptr) return;
        if (recording_) undo_.emplace_back(key, *there);
        if (!handed_out_) index_.remove(*there);
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

    // ---- as a std::map
    auto begin() const { return rows_.begin(); }
    auto end() const { return rows_.end(); }
    auto rbegin() const { return rows_.rbegin(); }
    auto rend() const { return rows_.rend(); }
    auto find(const Key& key) const { return rows_.find(key); }
    const Row& at(const Key& key) const { return rows_.at(key); }
    bool contains(const Key& key) const { return rows_.contains(key); }
    std::size_t count(const Key& key) const { return rows_.count(key); }
    std::size_t size() const { return rows_.size(); }
    bool empty() const { return rows_.empty(); }
    auto begin() { return hand_out().begin(); }
    auto end() { return hand_out().end(); }
    auto rbegin() { return hand_out().rbegin(); }
    auto rend() { return hand_out().rend(); }
    auto find(const Key& key) { return hand_out().find(key); }
    Row& at(const Key& key) { return hand_out().at(key); }
    Row& operator[](const Key& key) { return hand_out()[key]; }
    void clear() { hand_out().clear(); }
    template <typename What>
    auto erase(What&& what) {
        return hand_out().erase(std::forward<What>(what));
    }
    template <typename... Args>
    auto emplace(Args&&... args) {
        return hand_out().emplace(std::forward<Args>(args)...);
    }
    /// Somebody may hold rows: every use of the index costs as much as the table is long.
    bool is_handed_out() const { return handed_out_; }

  private:
    Row* own(const Key& key) { return const_cast<Row*>(std::as_const(*this).get(key)); }
    Map& hand_out() {
        handed_out_ = true;
        return rows_;
    }

    Map rows_;
    mutable Index index_;
    bool handed_out_ = false, recording_ = false;
    Key last_{};
    std::vector<std::pair<Key, std::optional<Row>>> undo_;
};

}  // namespace sluice
