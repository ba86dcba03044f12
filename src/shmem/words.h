// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Copies between private memory and words that other processes may write at the same time. Every word is an atomic:
// loads acquire, stores release. That makes the pattern "read the state word, copy, read the state word again" well
// defined without fences (which thread sanitizers don't know): a load that sees a word of the next content
// happens after the state word left the old one, so the second look at it can't miss that. On x86 it costs nothing.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace sluice::shm {

using Word = std::atomic<std::uint64_t>;

constexpr std::size_t words_for(std::size_t bytes) { return (bytes + 7) / 8; }

inline void store_bytes(Word* to, std::string_view from) {
    for (std::size_t i = 0; i < from.size(); i += 8) {
        std::uint64_t w = 0;
        std::memcpy(&w, from.data() + i, std::min<std::size_t>(8, from.size() - i));
        to[i / 8].store(w, std::memory_order_release);
    }
}

inline std::string load_bytes(const Word* from, std::size_t bytes) {
    std::string to(words_for(bytes) * 8, '\0');
    for (std::size_t i = 0; i < words_for(bytes); ++i) {
        const std::uint64_t w = from[i].load(std::memory_order_acquire);
        std::memcpy(to.data() + i * 8, &w, 8);
    }
    to.resize(bytes);
    return to;
}

}  // namespace sluice::shm
