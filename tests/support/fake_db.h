// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A MemoryDb as tests see it: its tables read like a std::map, and a row may be written to at any time, even by a
// reference that a test keeps. How stores behave is db/memory's business alone.
#include <functional>
#include <initializer_list>
#include <iterator>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "db/memory/memory_db.h"

namespace sluice::test {

template <typename T>
class FakeTable;

/// A row that is written to by a reference leaves the table's index behind: look_again() makes the index anew. put()
/// and change() keep it, as in a store; what has many rows uses those.
template <typename Key, typename Row, typename Index>
class FakeTable<sluice::Table<Key, Row, Index>> {
    using Memory = sluice::Table<Key, Row, Index>;

  public:
    using value_type = typename Memory::Map::value_type;
    using Rows = std::initializer_list<value_type>;

    /// As that of the rows, but one may write to what it shows.
    class Iterator {
        using Inside = typename Memory::Map::const_iterator;

      public:
        using iterator_category = std::forward_iterator_tag;
        using value_type = FakeTable::value_type;
        using difference_type = std::ptrdiff_t;
        using pointer = value_type*;
        using reference = value_type&;

        Iterator() = default;
        explicit Iterator(Inside at) : at_(at) {}
        reference operator*() const { return const_cast<value_type&>(*at_); }
        pointer operator->() const { return &**this; }
        Iterator& operator++() { return ++at_, *this; }
        Iterator operator++(int) { return Iterator(at_++); }
        bool operator==(const Iterator&) const = default;

      private:
        Inside at_;
    };

    explicit FakeTable(Memory& table) : table_(table) {}
    FakeTable(const FakeTable&) = delete;
    FakeTable& operator=(const FakeTable& other) { return this == &other ? *this : take(other.table_.rows()); }
    FakeTable& operator=(Rows rows) { return take(rows); }
    FakeTable& take(const auto& rows) {
        clear();
        for (const auto& [key, row] : rows) put(key, row);
        return *this;
    }

    std::size_t size() const { return table_.rows().size(); }
    bool empty() const { return table_.rows().empty(); }
    bool contains(const Key& key) const { return table_.get(key) != nullptr; }
    std::size_t count(const Key& key) const { return contains(key) ? 1 : 0; }
    Key next_key() const { return table_.next_key(); }
    auto begin() const { return table_.rows().begin(); }
    auto end() const { return table_.rows().end(); }
    auto find(const Key& key) const { return table_.rows().find(key); }
    const Row& at(const Key& key) const {
        const Row* row = table_.get(key);
        return row != nullptr ? *row : throw std::out_of_range("no such row");
    }

    void put(const Key& key, Row row) {
        if (contains(key)) look_again();
        if constexpr (requires { row.id = key; }) row.id = key;
        table_.put(key, std::move(row));
    }
    template <typename How>
    bool change(const Key& key, How&& how) {
        look_again();
        return table_.change(key, std::forward<How>(how));
    }
    std::size_t erase(const Key& key) {
        look_again();
        const std::size_t n = count(key);
        table_.remove(key);
        return n;
    }
    void clear() { table_ = Memory{}; }

    Iterator begin() { return opened(table_.rows().begin()); }
    Iterator end() { return opened(table_.rows().end()); }
    Iterator find(const Key& key) { return opened(table_.rows().find(key)); }
    Row& at(const Key& key) {
        open_ = true;
        return const_cast<Row&>(std::as_const(*this).at(key));
    }
    Row& operator[](const Key& key) {
        if (!contains(key)) put(key, Row{});
        return at(key);
    }
    /// That of the highest key.
    value_type& last() {
        Iterator last = begin();
        for (Iterator at = last; at != end(); ++at) last = at;
        return *last;
    }

    /// A row's id is its key, whatever a test put there.
    void look_again() {
        if (!open_) return;
        auto& index = const_cast<Index&>(table_.index());
        index = Index{};
        for (value_type& at : *this) {
            if constexpr (requires { at.second.id = at.first; }) at.second.id = at.first;
            index.add(at.second);
        }
    }

  private:
    Iterator opened(typename Memory::Map::const_iterator at) {
        open_ = true;
        return Iterator(at);
    }
    Memory& table_;
    bool open_ = false;  ///< references to rows were handed out
};

/// A copy has the rows of the tables that are shown here, and no more.
class FakeDb {
  public:
    FakeDb() {
        memory.before = [this](const std::string& verb) {
            const struct Afterwards {
                FakeDb& db;
                ~Afterwards() { db.look_again(); }
            } afterwards{*this};
            if (before) before(verb);
        };
    }
    FakeDb(const FakeDb& other) : FakeDb() { *this = other; }
    explicit FakeDb(const MemoryDb& rows) : FakeDb() { take(rows); }
    FakeDb& operator=(const FakeDb& other) {
        if (this != &other) take(other.memory);
        return *this;
    }

    /// What stores are made on.
    MemoryDb memory;
    FakeTable<decltype(MemoryDb::platforms)> platforms{memory.platforms};
    FakeTable<decltype(MemoryDb::apps)> apps{memory.apps};
    FakeTable<decltype(MemoryDb::versions)> versions{memory.versions};
    FakeTable<decltype(MemoryDb::users)> users{memory.users};
    FakeTable<decltype(MemoryDb::teams)> teams{memory.teams};
    FakeTable<decltype(MemoryDb::hosts)> hosts{memory.hosts};
    FakeTable<decltype(MemoryDb::host_attempts)> host_attempts{memory.host_attempts};
    FakeTable<decltype(MemoryDb::host_trickle_bytes)> host_trickle_bytes{memory.host_trickle_bytes};
    FakeTable<decltype(MemoryDb::host_gang_starts)> host_gang_starts{memory.host_gang_starts};
    FakeTable<decltype(MemoryDb::host_app_versions)> host_app_versions{memory.host_app_versions};
    FakeTable<decltype(MemoryDb::workunits)> workunits{memory.workunits};
    FakeTable<decltype(MemoryDb::results)> results{memory.results};
    FakeTable<decltype(MemoryDb::assignments)> assignments{memory.assignments};
    FakeTable<decltype(MemoryDb::batches)> batches{memory.batches};
    FakeTable<decltype(MemoryDb::low_turnaround)> low_turnaround{memory.low_turnaround};
    FakeTable<decltype(MemoryDb::file_groups)> file_groups{memory.file_groups};
    FakeTable<decltype(MemoryDb::group_workunits)> group_workunits{memory.group_workunits};
    FakeTable<decltype(MemoryDb::gang_leases)> gang_leases{memory.gang_leases};
    FakeTable<decltype(MemoryDb::from_host)> from_host{memory.from_host};
    FakeTable<decltype(MemoryDb::to_host)> to_host{memory.to_host};
    FakeTable<decltype(MemoryDb::account_trickles)> account_trickles{memory.account_trickles};

    /// As MemoryDb::before.
    std::function<void(const std::string& verb)> before{};
    std::uint64_t& verbs = memory.verbs;

  private:
    template <typename Do>
    static void each(Do&& act) {
        act(&FakeDb::platforms, &MemoryDb::platforms), act(&FakeDb::apps, &MemoryDb::apps);
        act(&FakeDb::versions, &MemoryDb::versions), act(&FakeDb::users, &MemoryDb::users);
        act(&FakeDb::teams, &MemoryDb::teams), act(&FakeDb::hosts, &MemoryDb::hosts);
        act(&FakeDb::host_attempts, &MemoryDb::host_attempts);
        act(&FakeDb::host_trickle_bytes, &MemoryDb::host_trickle_bytes);
        act(&FakeDb::host_gang_starts, &MemoryDb::host_gang_starts);
        act(&FakeDb::host_app_versions, &MemoryDb::host_app_versions);
        act(&FakeDb::workunits, &MemoryDb::workunits), act(&FakeDb::results, &MemoryDb::results);
        act(&FakeDb::assignments, &MemoryDb::assignments), act(&FakeDb::batches, &MemoryDb::batches);
        act(&FakeDb::low_turnaround, &MemoryDb::low_turnaround);
        act(&FakeDb::file_groups, &MemoryDb::file_groups);
        act(&FakeDb::group_workunits, &MemoryDb::group_workunits);
        act(&FakeDb::gang_leases, &MemoryDb::gang_leases);
        act(&FakeDb::from_host, &MemoryDb::from_host), act(&FakeDb::to_host, &MemoryDb::to_host);
        act(&FakeDb::account_trickles, &MemoryDb::account_trickles);
    }
    void take(const MemoryDb& rows) {
        each([&](auto shown, auto table) { (this->*shown).take((rows.*table).rows()); });
    }
    void look_again() {
        each([this](auto shown, auto) { (this->*shown).look_again(); });
    }
};

}  // namespace sluice::test
