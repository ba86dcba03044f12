// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Ids in ascending order, as a std::set<Id> has them, a bit for each: ids of a database lie close together.
#include <array>
#include <bit>
#include <cstdint>
#include <iterator>
#include <tuple>
#include <utility>

#include "db/memory/row_map.h"

namespace sluice {

class IdSet {
  public:
    class Iterator {
      public:
        using iterator_category = std::forward_iterator_tag;
        using value_type = Id;
        using difference_type = std::ptrdiff_t;
        using pointer = const Id*;
        using reference = Id;

        Iterator() = default;
        Iterator(const IdSet* set, std::size_t page, int slot) : set_(set), page_(page), slot_(slot) {}
        Id operator*() const { return set_->pages_[page_].number * kIds + slot_; }
        Iterator& operator++() { return *this = set_->from(page_, slot_ + 1); }
        Iterator operator++(int) { return std::exchange(*this, std::next(*this)); }
        bool operator==(const Iterator&) const = default;

      private:
        const IdSet* set_ = nullptr;
        std::size_t page_ = 0;
        int slot_ = 0;
    };
    using iterator = Iterator;
    using const_iterator = Iterator;
    using value_type = Id;

    /// False: it was there.
    bool insert(Id id) {
        Page& page = *pages_[pages_.make(id)].page;
        const auto [word, bit] = place_of(id);
        const bool is_new = (page.words[word] & bit) == 0;
        size_ += is_new ? 1 : 0;
        page.words[word] |= bit;
        page.used |= std::uint64_t{1} << word;
        return is_new;
    }
    void erase(Id id) {
        Page* page = pages_.of(id);
        if (page == nullptr) return;
        const auto [word, bit] = place_of(id);
        if ((page->words[word] & bit) == 0) return;
        --size_;
        page->words[word] &= ~bit;
        if (page->words[word] == 0) page->used &= ~(std::uint64_t{1} << word);
        if (page->used == 0) pages_[pages_.index_of(id)].page.reset();
    }
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    Iterator begin() const { return from(0, 0); }
    Iterator end() const { return {this, pages_.size(), 0}; }
    /// The first one above `id`.
    Iterator upper_bound(Id id) const {
        const std::size_t index = pages_.index_of(id + 1);
        const bool there = index < pages_.size() && pages_[index].number == pages_.number_of(id + 1);
        return from(index, there ? pages_.slot_of(id + 1) : 0);
    }

  private:
    static constexpr int kIds = 4096;
    struct Page {
        std::uint64_t used = 0;  ///< a bit for each word that is not 0
        std::array<std::uint64_t, kIds / 64> words{};
    };
    static std::pair<std::size_t, std::uint64_t> place_of(Id id) {
        const int slot = Pages<Page, kIds>::slot_of(id);
        return {static_cast<std::size_t>(slot / 64), std::uint64_t{1} << (slot % 64)};
    }
    /// The first one that is not before that place.
    Iterator from(std::size_t index, int slot) const {
        for (; index < pages_.size(); ++index, slot = 0) {
            if (!pages_[index].page || slot >= kIds) continue;
            const Page& page = *pages_[index].page;
            const auto word = static_cast<std::size_t>(slot / 64);
            if (const std::uint64_t left = page.words[word] >> (slot % 64); left != 0)
                return {this, index, slot + std::countr_zero(left)};
            const std::uint64_t more = word == 63 ? 0 : page.used >> (word + 1) << (word + 1);
            if (more == 0) continue;
            const auto next = static_cast<std::size_t>(std::countr_zero(more));
            return {this, index, static_cast<int>(64 * next) + std::countr_zero(page.words[next])};
        }
        return {this, pages_.size(), 0};
    }

    Pages<Page, kIds> pages_;
    std::size_t size_ = 0;
};

}  // namespace sluice
