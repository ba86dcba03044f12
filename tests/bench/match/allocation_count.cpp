// SPDX-License-Identifier: LGPL-3.0-or-later
// Counts allocations of the whole program. A file of its own, so that the compiler does not see through the pair.
#include "tests/bench/match/allocation_count.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<std::uint64_t> g_allocations{0};
}

std::uint64_t allocation_count() { return g_allocations.load(std::memory_order_relaxed); }

void* operator new(std::size_t n) {
    g_allocations.fetch_add(1, std::memory_order_relaxed);
    if (void* p = std::malloc(n ? n : 1)) return p;
    throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
