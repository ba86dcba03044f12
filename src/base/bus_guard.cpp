// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/base/bus_guard.h"

#include <signal.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <utility>

namespace sluice {
namespace {

/// A signal handler reads it: a fixed place, atomics only.
struct Place {
    std::atomic<char*> at{nullptr};
    std::atomic<std::size_t> bytes{0};
    std::atomic<bool> taken{false}, hit{false};
};
std::array<Place, 1024> g_places;
struct sigaction g_before;

/// Zeroes in the place of the whole mapping; false: no such mapping. Only system calls that a handler may make.
bool put_zeroes_at(const char* address) {
    for (Place& p : g_places) {
        char* const at = p.at.load(std::memory_order_acquire);
        const std::size_t bytes = p.bytes.load(std::memory_order_relaxed);
        if (at == nullptr || address < at || address >= at + bytes) continue;
        const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
        if (::mmap(at, bytes, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED) return false;
        p.hit.store(true, std::memory_order_release);
        return true;
    }
    return false;
}

void on_sigbus(int signal, siginfo_t* info, void* context) {
    const int error = errno;
    const bool done = put_zeroes_at(static_cast<const char*>(info->si_addr));
    errno = error;
    if (done) return;
    if ((g_before.sa_flags & SA_SIGINFO) != 0) {
        g_before.sa_sigaction(signal, info, context);
    } else {
        ::sigaction(signal, &g_before, nullptr);  // the access is made again and does what it did before us
    }
}

void install_once() {
    static std::once_flag once;
    std::call_once(once, [] {
        struct sigaction action {};
        action.sa_sigaction = on_sigbus;
        action.sa_flags = SA_SIGINFO | SA_NODEFER;
        sigemptyset(&action.sa_mask);
        ::sigaction(SIGBUS, &action, &g_before);
    });
}

}  // namespace

BusGuard::BusGuard(void* at, std::size_t bytes) {
    install_once();
    for (std::size_t i = 0; i < g_places.size(); ++i) {
        if (g_places[i].taken.exchange(true)) continue;
        place_ = static_cast<int>(i);
        g_places[i].hit.store(false);
        g_places[i].bytes.store(bytes);
        g_places[i].at.store(static_cast<char*>(at), std::memory_order_release);
        return;
    }
}

BusGuard::BusGuard(BusGuard&& other) noexcept : place_(std::exchange(other.place_, -1)) {}

BusGuard::~BusGuard() {
    if (place_ < 0) return;
    Place& p = g_places[static_cast<std::size_t>(place_)];
    p.at.store(nullptr);
    p.taken.store(false);
}

bool BusGuard::hit() const { return place_ >= 0 && g_places[static_cast<std::size_t>(place_)].hit.load(); }

}  // namespace sluice
