// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What the front counts of one hour: a file of fixed size, which all its processes have in memory. Each number is added
// to by one instruction, so that a kill loses one request at most. Linked into the front, so without libraries.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "sched/canary/served_request.h"

namespace sluice {

/// Of times, in µs: 16 for each doubling, so that the middle of one is at most 3 % off.
inline constexpr std::size_t kTimeSteps = 528;
std::size_t time_step(std::int64_t microseconds);
/// The middle of a step, in µs.
double time_of_step(std::size_t step);

/// Those of further texts are added to the last one, which has no text.
inline constexpr std::size_t kCountedReasons = 48, kLongestMessages = 600;

/// Zeros are an hour without requests. Who reads it checks it: the web server's account may write there what it likes.
struct CountedReason {
    std::uint64_t hash, n;  ///< of the text without its numbers; 0: free
    std::array<char, kLongestMessages> text;
};
struct SideCounts {
    std::array<std::uint64_t, 5> how;  ///< requests, by ServedHow
    std::uint64_t jobs, most;          ///< `most`: the longest time, in µs
    std::array<std::uint64_t, kTimeSteps> times;
    std::array<CountedReason, kCountedReasons + 1> reasons;
};
struct HourCounts {
    SideCounts ours, theirs;
};

/// Other processes may do the same with the same memory.
void count(HourCounts& counts, const ServedRequest& served);

/// Adds to the file of that hour in `folder`. False, and nothing is counted: no room, or what is there is no file of
/// this account's. A new file takes those of hours before kCountedHours away.
bool count_in_file(const std::string& folder, std::int64_t hour, const ServedRequest& served);
inline constexpr std::int64_t kCountedHours = 1000;

/// Of an hour, in hours since 1970.
std::string counts_file(std::int64_t hour);

}  // namespace sluice
