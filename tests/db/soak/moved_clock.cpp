// SPDX-License-Identifier: LGPL-3.0-or-later
// Preloaded into every program of a soak, the database's server included: the time of day is ahead of the real one by
// what the file of steps says. Clocks that only measure (CLOCK_MONOTONIC) stay real, and so do sleeps, unless
// kMovedWaits is set. Times of files are the kernel's, real ones: they are shown as the clock stood when they were
// written.
#include "tests/db/soak/moved_clock.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace {

using sluice::test::ClockSteps;
constexpr std::int64_t kNs = 1'000'000'000;

template <typename F>
F next(const char* name, const char* version = nullptr) {
    void* found = version != nullptr ? ::dlvsym(RTLD_NEXT, name, version) : nullptr;
    return reinterpret_cast<F>(found != nullptr ? found : ::dlsym(RTLD_NEXT, name));
}

const ClockSteps* steps() {
    static const ClockSteps* const shared = []() -> const ClockSteps* {
        const char* file = std::getenv(sluice::test::kMovedClockFile);
        const int fd = file != nullptr ? ::open(file, O_RDONLY | O_CLOEXEC) : -1;
        if (fd < 0) return nullptr;
        void* at = ::mmap(nullptr, sizeof(ClockSteps), PROT_READ, MAP_SHARED, fd, 0);
        ::close(fd);
        return at != MAP_FAILED ? static_cast<const ClockSteps*>(at) : nullptr;
    }();
    return shared;
}

std::int64_t ns_of(const timespec& t) { return t.tv_sec * kNs + t.tv_nsec; }
timespec time_of(std::int64_t ns) {
    timespec t{};
    t.tv_sec = ns / kNs, t.tv_nsec = ns % kNs;
    return t;
}

std::int64_t ahead_now() {
    const ClockSteps* s = steps();
    const std::uint64_t n = s != nullptr ? s->count.load(std::memory_order_acquire) : 0;
    return n > 0 ? s->steps[n - 1].ahead : 0;
}

/// How far the clock was ahead at that real time.
std::int64_t ahead_at(std::int64_t real) {
    const ClockSteps* s = steps();
    std::uint64_t low = 0, high = s != nullptr ? s->count.load(std::memory_order_acquire) : 0;
    if (high == 0) return 0;
    while (high - low > 1) {
        const std::uint64_t middle = (low + high) / 2;
        (s->steps[middle].real <= real ? low : high) = middle;
    }
    return s->steps[low].ahead;
}

/// The real time at which the clock showed that: the latest step that began no later.
timespec real_time(const timespec& shown) {
    if (shown.tv_nsec == UTIME_NOW || shown.tv_nsec == UTIME_OMIT) return shown;
    const ClockSteps* s = steps();
    const std::int64_t at = ns_of(shown);
    std::uint64_t low = 0, high = s != nullptr ? s->count.load(std::memory_order_acquire) : 0;
    if (high == 0) return shown;
    while (high - low > 1) {
        const std::uint64_t middle = (low + high) / 2;
        (s->steps[middle].real + s->steps[middle].ahead <= at ? low : high) = middle;
    }
    return time_of(at - s->steps[low].ahead);
}

void move(timespec& t) { t = time_of(ns_of(t) + ahead_at(ns_of(t))); }
int moved(int result, struct stat* info) {
    if (result == 0) move(info->st_atim), move(info->st_mtim), move(info->st_ctim);
    return result;
}
int moved(int result, struct stat64* info) {
    if (result == 0) move(info->st_atim), move(info->st_mtim), move(info->st_ctim);
    return result;
}
void move(statx_timestamp& t) {
    const timespec at = time_of(t.tv_sec * kNs + t.tv_nsec + ahead_at(t.tv_sec * kNs + t.tv_nsec));
    t.tv_sec = at.tv_sec, t.tv_nsec = static_cast<std::uint32_t>(at.tv_nsec);
}

/// sluice health waits for its threads by futexes with a deadline of CLOCK_MONOTONIC, which nothing here can move.
bool waits_are_moved() {
    static const bool moved =
        std::getenv(sluice::test::kMovedWaits) != nullptr && std::strcmp(program_invocation_short_name, "sluice") != 0;
    return moved;
}

/// A deadline by a clock that is moved, for who waits by the real one. Deadlines of CLOCK_MONOTONIC are short of years.
timespec real_deadline(const timespec& until) {
    constexpr std::int64_t kYears = 1'000'000'000;
    return until.tv_sec < kYears && !waits_are_moved() ? until : time_of(ns_of(until) - ahead_now());
}

constexpr std::int64_t kSlice = 20'000'000;  ///< ns after which a wait looks whether the clock was moved
std::int64_t moved_monotonic() {
    timespec now{};
    ::syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return ns_of(now) + ahead_now();
}

/// A wait of that many ns, by the clock that is moved, in slices: `wait` is given a slice, and says whether it is over.
template <typename Wait>
void wait_in_slices(std::int64_t ns, Wait wait) {
    const std::int64_t end = moved_monotonic() + ns;
    for (std::int64_t left = ns;; left = end - moved_monotonic())
        if (wait(std::clamp<std::int64_t>(left, 0, kSlice)) || left <= 0) return;
}

/// Who has a connection to somebody waits for an answer: that takes the time that it takes.
bool waits_for_answer(const pollfd& polled) {
    int listens = 0;
    socklen_t size = sizeof listens;
    return polled.fd >= 0 && ::getsockopt(polled.fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens == 0;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* t) {
    static const auto real = next<int (*)(clockid_t, timespec*)>("clock_gettime");
    const int result = real != nullptr ? real(clock, t) : static_cast<int>(::syscall(SYS_clock_gettime, clock, t));
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        *t = time_of(ns_of(*t) + ahead_now());
    if (result == 0 && clock == CLOCK_MONOTONIC && waits_are_moved()) *t = time_of(ns_of(*t) + ahead_now());
    return result;
}
int gettimeofday(timeval* t, void*) {
    timespec now{};
    const int result = clock_gettime(CLOCK_REALTIME, &now);
    t->tv_sec = now.tv_sec, t->tv_usec = now.tv_nsec / 1000;
    return result;
}
time_t time(time_t* t) {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    if (t != nullptr) *t = now.tv_sec;
    return now.tv_sec;
}

int stat(const char* path, struct stat* info) {
    static const auto real = next<int (*)(const char*, struct stat*)>("stat");
    return moved(real(path, info), info);
}
int lstat(const char* path, struct stat* info) {
    static const auto real = next<int (*)(const char*, struct stat*)>("lstat");
    return moved(real(path, info), info);
}
int fstat(int fd, struct stat* info) {
    static const auto real = next<int (*)(int, struct stat*)>("fstat");
    return moved(real(fd, info), info);
}
int fstatat(int fd, const char* path, struct stat* info, int flags) {
    static const auto real = next<int (*)(int, const char*, struct stat*, int)>("fstatat");
    return moved(real(fd, path, info, flags), info);
}
int stat64(const char* path, struct stat64* info) {
    static const auto real = next<int (*)(const char*, struct stat64*)>("stat64");
    return moved(real(path, info), info);
}
int lstat64(const char* path, struct stat64* info) {
    static const auto real = next<int (*)(const char*, struct stat64*)>("lstat64");
    return moved(real(path, info), info);
}
int fstat64(int fd, struct stat64* info) {
    static const auto real = next<int (*)(int, struct stat64*)>("fstat64");
    return moved(real(fd, info), info);
}
int fstatat64(int fd, const char* path, struct stat64* info, int flags) {
    static const auto real = next<int (*)(int, const char*, struct stat64*, int)>("fstatat64");
    return moved(real(fd, path, info, flags), info);
}
int statx(int fd, const char* path, int flags, unsigned mask, struct statx* info) {
    static const auto real = next<int (*)(int, const char*, int, unsigned, struct statx*)>("statx");
    const int result = real(fd, path, flags, mask, info);
    if (result == 0) move(info->stx_atime), move(info->stx_btime), move(info->stx_ctime), move(info->stx_mtime);
    return result;
}
int utimensat(int fd, const char* path, const timespec times[2], int flags) {
    static const auto real = next<int (*)(int, const char*, const timespec*, int)>("utimensat");
    if (times == nullptr) return real(fd, path, nullptr, flags);
    const timespec set[2] = {real_time(times[0]), real_time(times[1])};
    return real(fd, path, set, flags);
}
int futimens(int fd, const timespec times[2]) {
    static const auto real = next<int (*)(int, const timespec*)>("futimens");
    if (times == nullptr) return real(fd, nullptr);
    const timespec set[2] = {real_time(times[0]), real_time(times[1])};
    return real(fd, set);
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* until) {
    static const auto real =
        next<int (*)(pthread_cond_t*, pthread_mutex_t*, const timespec*)>("pthread_cond_timedwait", "GLIBC_2.3.2");
    const timespec deadline = real_deadline(*until);
    return real(condition, mutex, &deadline);
}
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* until) {
    static const auto real =
        next<int (*)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)>("pthread_cond_clockwait");
    const timespec deadline = real_deadline(*until);
    return real(condition, mutex, clock, &deadline);
}

int poll(pollfd* polled, nfds_t n, int milliseconds) {
    static const auto real = next<int (*)(pollfd*, nfds_t, int)>("poll");
    if (milliseconds <= 0 || !waits_are_moved() || std::any_of(polled, polled + n, waits_for_answer))
        return real(polled, n, milliseconds);
    int result = 0;
    wait_in_slices(milliseconds * std::int64_t{1'000'000}, [&](std::int64_t slice) {
        result = real(polled, n, static_cast<int>((slice + 999'999) / 1'000'000));
        return result != 0;
    });
    return result;
}
/// The feeder waits for schedulers by a futex.
long syscall(long number, ...) {
    static const auto real = next<long (*)(long, ...)>("syscall");
    va_list list;
    va_start(list, number);
    long a[6];
    for (long& value : a) value = va_arg(list, long);
    va_end(list);
    const auto* timeout = reinterpret_cast<const timespec*>(a[3]);
    if (number != SYS_futex || a[1] != FUTEX_WAIT || timeout == nullptr || !waits_are_moved())
        return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    long result = 0;
    wait_in_slices(ns_of(*timeout), [&](std::int64_t slice) {
        const timespec part = time_of(slice);
        result = real(number, a[0], a[1], a[2], &part, a[4], a[5]);
        return result == 0 || errno != ETIMEDOUT;
    });
    return result;
}

}  // extern "C"
