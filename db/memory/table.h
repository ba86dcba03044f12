#pragma once
// A table in memory: rows by key, an index that is kept as rows change, and the undoing of a transaction.
#include <algorithm>
#include <initializer_list>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace sluice {

/// Of a table that is found by its key alone.
struct NoIndex {
    template <typename Row>
    void add(const Row&) {}
    template <typename Row>
    void remove(const Row&) {}
};

/// `Index` has add(row) and remove(row). Two ways to write: stores use put(), change() and remove(), which keep the
/// index. Whoever takes rows like those of a std::map (to set a project up, to play another process) may change them at
/// any later time too: from then on the index is made anew each time it is asked for. Copies are independent.
template <typename Key, typename Row, typename Index = NoIndex>
class Table {
  public:
    using Map = std::map<Key, Row>;

    Table() = default;
    Table& operator=(std::initializer_list<typename Map::value_type> rows) {
        hand_out() = rows;
        return *this;
    }

    // ---- reading
    const Map& rows() const { return rows_; }
    const Row* get(const Key& key) const {
        const auto at = rows_.find(key);
        return at == rows_.end() ? nullptr : &at->second;
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
        const auto [at, is_new] = rows_.try_emplace(key);
        if (recording_) undo_.emplace_back(key, is_new ? std::nullopt : std::optional(at->second));
        if (!is_new) index_.remove(at->second);
        at->second = std::move(row);
        index_.add(at->second);
        if constexpr (requires { key + 1; }) last_ = std::max(last_, key);
    }
    /// False if there is no such row. `how` gets a Row&.
    template <typename How>
    bool change(const Key& key, How&& how) {
        const auto at = rows_.find(key);
        if (at == rows_.end()) return false;
        if (recording_) undo_.emplace_back(key, at->second);
        index_.remove(at->second);
        how(at->second);
        index_.add(at->second);
        return true;
    }
    void remove(const Key& key) {
        const auto at = rows_.find(key);
        if (at == rows_.end()) return;
        if (recording_) undo_.emplace_back(key, at->second);
        index_.remove(at->second);
        rows_.erase(at);
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
