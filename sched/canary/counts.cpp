// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/canary/counts.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>

namespace sluice {
namespace {

constexpr std::size_t kStepsOfDoubling = 16, kFirstBits = 4;
/// So many hours without a request may lie between two files.
constexpr std::int64_t kGap = 100;

void add(std::uint64_t& number, std::uint64_t n) { std::atomic_ref(number).fetch_add(n, std::memory_order_relaxed); }

void raise(std::uint64_t& number, std::uint64_t to) {
    std::atomic_ref at(number);
    for (std::uint64_t now = at.load(); now < to && !at.compare_exchange_weak(now, to);) {
    }
}

/// FNV-1a of the text without its numbers: how many bytes are missing makes no other reason. Never 0.
std::uint64_t hash_of(std::string_view text) {
    std::uint64_t hash = 14695981039346656037ULL;
    for (const char c : text)
        if (c < '0' || c > '9') hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    return std::max<std::uint64_t>(hash, 1);
}

CountedReason& reason_of_text(SideCounts& side, std::string_view text) {
    const std::uint64_t wanted = hash_of(text);
    for (std::size_t i = 0; i < kCountedReasons; ++i) {
        CountedReason& reason = side.reasons[i];
        std::uint64_t found = 0;
        if (!std::atomic_ref(reason.hash).compare_exchange_strong(found, wanted) && found != wanted) continue;
        // Also behind one that was killed here.
        if (reason.text[0] == '\0') text.copy(reason.text.data(), reason.text.size() - 1);
        return reason;
    }
    return side.reasons[kCountedReasons];
}

}  // namespace

std::size_t time_step(std::int64_t microseconds) {
    const auto us = static_cast<std::uint64_t>(std::max<std::int64_t>(microseconds, 0));
    if (us < kStepsOfDoubling) return us;
    const auto bits = static_cast<std::size_t>(std::bit_width(us)) - 1 - kFirstBits;
    const std::size_t step = (bits + 1) * kStepsOfDoubling + ((us >> bits) & (kStepsOfDoubling - 1));
    return std::min(step, kTimeSteps - 1);
}

double time_of_step(std::size_t step) {
    if (step < kStepsOfDoubling) return static_cast<double>(step);
    const std::size_t bits = step / kStepsOfDoubling - 1;
    const auto width = static_cast<double>(std::uint64_t{1} << bits);
    return (static_cast<double>(kStepsOfDoubling + step % kStepsOfDoubling) + .5) * width;
}

void count(HourCounts& counts, const ServedRequest& served) {
    SideCounts& side = served.ours ? counts.ours : counts.theirs;
    add(side.how[static_cast<std::size_t>(served.how)], 1);
    add(side.jobs, static_cast<std::uint64_t>(std::max(served.jobs, 0)));
    add(side.times[time_step(served.microseconds)], 1);
    raise(side.most, static_cast<std::uint64_t>(std::max<std::int64_t>(served.microseconds, 0)));
    if (served.how == ServedHow::kRefused || served.how == ServedHow::kDown)
        add(reason_of_text(side, served.messages).n, 1);
}

bool count_in_file(const std::string& folder, std::int64_t hour, const ServedRequest& served) {
    const std::string path = folder + "/" + counts_file(hour);
    constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    const int made = ::open(path.c_str(), kFlags | O_CREAT | O_EXCL, 0640);
    const int file = made >= 0 ? made : ::open(path.c_str(), kFlags);
    if (file < 0) return false;
    struct stat info {};
    bool good = ::fstat(file, &info) == 0 && S_ISREG(info.st_mode) && info.st_nlink == 1;
    const auto size = static_cast<std::int64_t>(sizeof(HourCounts));
    // The room first: a hole on a full disk would end this process as it counts.
    good = good && (info.st_size == size || (info.st_size < size && ::posix_fallocate(file, 0, size) == 0));
    if (good && info.st_uid == ::geteuid()) ::fchmod(file, 0640);  // the project's account reads it by its group
    void* memory = good ? ::mmap(nullptr, sizeof(HourCounts), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
    ::close(file);
    if (memory == MAP_FAILED) return false;
    count(*static_cast<HourCounts*>(memory), served);
    ::munmap(memory, sizeof(HourCounts));
    for (std::int64_t old = 0; made >= 0 && old < kGap; ++old)
        ::unlink((folder + "/" + counts_file(hour - kCountedHours - old)).c_str());
    return true;
}

std::string counts_file(std::int64_t hour) { return "counts_" + std::to_string(hour); }

}  // namespace sluice
