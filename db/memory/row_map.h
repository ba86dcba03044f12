// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Rows by id, read like a std::map<Id, Row>, but found at once. A database gives out ids one after the other, so
// neighbours share a page. References stay good until their row is erased.
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "sluice/model/codes.h"

namespace sluice {

/// Page n is of the ids from n * kIds on.
template <typename Page, int kIds>
class Pages {
  public:
    struct Place {
        Id number = 0;
        std::unique_ptr<Page> page;  ///< null: nothing is there
    };
    static int slot_of(Id id) { return static_cast<int>(id - number_of(id) * kIds); }
    static Id number_of(Id id) { return id >= 0 ? id / kIds : -((kIds - 1 - id) / kIds); }

    std::size_t size() const { return places_.size(); }
    Place& operator[](std::size_t index) { return places_[index]; }
    const Place& operator[](std::size_t index) const { return places_[index]; }
    /// Where the page of the id is, or would be inserted.
    std::size_t index_of(Id id) const {
        const Id number = number_of(id);
        if (!places_.empty()) {  // most often there is no gap from the first one to it
            const Id guess = number - places_.front().number;
            if (guess >= 0 && guess < std::ssize(places_) && places_[static_cast<std::size_t>(guess)].number == number)
                return static_cast<std::size_t>(guess);
        }
        const auto at = std::lower_bound(places_.begin(), places_.end(), number,
                                         [](const Place& place, Id wanted) { return place.number < wanted; });
        return static_cast<std::size_t>(at - places_.begin());
    }
    const Page* of(Id id) const {
        const std::size_t index = index_of(id);
        return index < size() && places_[index].number == number_of(id) ? places_[index].page.get() : nullptr;
    }
    Page* of(Id id) { return const_cast<Page*>(std::as_const(*this).of(id)); }
    std::size_t make(Id id) {
        const std::size_t index = index_of(id);
        if (index == size() || places_[index].number != number_of(id))
            places_.insert(places_.begin() + static_cast<std::ptrdiff_t>(index), Place{number_of(id), nullptr});
        if (!places_[index].page) places_[index].page = std::make_unique<Page>();
        return index;
    }

  private:
    std::vector<Place> places_;  ///< by number
};

template <typename Row>
class RowMap {
  public:
    using value_type = std::pair<const Id, Row>;

    class Iterator {
      public:
        using iterator_category = std::forward_iterator_tag;
        using value_type = RowMap::value_type;
        using difference_type = std::ptrdiff_t;
        using pointer = const value_type*;
        using reference = const value_type&;

        Iterator() = default;
        Iterator(const RowMap* map, std::pair<std::size_t, int> at) : map_(map), page_(at.first), slot_(at.second) {}
        reference operator*() const { return map_->pages_[page_].page->at(slot_); }
        pointer operator->() const { return &**this; }
        Iterator& operator++() { return *this = {map_, map_->next_used(page_, slot_ + 1)}; }
        Iterator operator++(int) { return std::exchange(*this, std::next(*this)); }
        bool operator==(const Iterator&) const = default;

      private:
        const RowMap* map_ = nullptr;
        std::size_t page_ = 0;
        int slot_ = 0;
    };
    using iterator = Iterator;
    using const_iterator = Iterator;

    const Row* get(Id id) const {
        const Page* page = pages_.of(id);
        return page != nullptr && page->has(slot_of(id)) ? &page->at(slot_of(id)).second : nullptr;
    }
    Row* get(Id id) { return const_cast<Row*>(std::as_const(*this).get(id)); }
    Iterator find(Id id) const {
        return get(id) == nullptr ? end() : Iterator{this, {pages_.index_of(id), slot_of(id)}};
    }
    bool contains(Id id) const { return get(id) != nullptr; }
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }

    Iterator begin() const { return {this, next_used(0, 0)}; }
    Iterator end() const { return {this, {pages_.size(), 0}}; }
    /// The first one above `id`.
    Iterator upper_bound(Id id) const {
        const std::size_t index = pages_.index_of(id + 1);
        const bool there = index < pages_.size() && pages_[index].number == pages_.number_of(id + 1);
        return {this, next_used(index, there ? slot_of(id + 1) : 0)};
    }

    /// The row of that id, made of `args` unless it is there already.
    template <typename... Args>
    Row& try_emplace(Id id, Args&&... args) {
        auto& page = pages_[pages_.make(id)].page;
        const int slot = slot_of(id);
        if (!page->has(slot)) {
            page->make(slot, id, std::forward<Args>(args)...);
            ++size_;
        }
        return page->at(slot).second;
    }
    std::size_t erase(Id id) {
        if (!contains(id)) return 0;
        auto& page = pages_[pages_.index_of(id)].page;
        page->remove(slot_of(id));
        if (page->used == 0) page.reset();
        --size_;
        return 1;
    }

  private:
    static constexpr int kPage = 64;  ///< rows; as many bits as `used` has

    struct Page {
        std::uint64_t used = 0;
        alignas(value_type) std::array<std::byte, kPage * sizeof(value_type)> room;

        Page() {}  // the room stays as it is
        Page(const Page&) = delete;
        Page& operator=(const Page&) = delete;
        ~Page() {
            for (; used != 0; used &= used - 1) at(std::countr_zero(used)).~value_type();
        }
        bool has(int slot) const { return (used >> slot & 1) != 0; }
        value_type& at(int slot) { return *std::launder(reinterpret_cast<value_type*>(&room[place(slot)])); }
        const value_type& at(int slot) const {
            return *std::launder(reinterpret_cast<const value_type*>(&room[place(slot)]));
        }
        template <typename... Args>
        void make(int slot, Id id, Args&&... args) {
            new (&room[place(slot)]) value_type(std::piecewise_construct, std::forward_as_tuple(id),
                                                std::forward_as_tuple(std::forward<Args>(args)...));
            used |= std::uint64_t{1} << slot;
        }
        void remove(int slot) {
            at(slot).~value_type();
            used &= ~(std::uint64_t{1} << slot);
        }
        static std::size_t place(int slot) { return static_cast<std::size_t>(slot) * sizeof(value_type); }
    };
    static int slot_of(Id id) { return Pages<Page, kPage>::slot_of(id); }

    std::pair<std::size_t, int> next_used(std::size_t page, int slot) const {
        for (; page < pages_.size(); ++page, slot = 0) {
            if (!pages_[page].page || slot >= kPage) continue;
            const std::uint64_t left = pages_[page].page->used >> slot;
            if (left != 0) return {page, slot + std::countr_zero(left)};
        }
        return {pages_.size(), 0};
    }
    Pages<Page, kPage> pages_;
    std::size_t size_ = 0;
};

}  // namespace sluice
