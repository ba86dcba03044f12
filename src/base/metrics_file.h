// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The layout of a file of counts: a head, then a table of keys and values that is probed from a key's hash on. Keys are
// put in by compare-and-swap and stay. The size is fixed.
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "sluice/base/metrics.h"

namespace sluice::metric_file {

inline constexpr std::uint64_t kMagic = 0x314d454349554c53;  // "SLUICEM1"
inline constexpr std::size_t kBytes = 32768, kEntries = kBytes / 16 - 1;
/// A key that finds no place in so many entries is dropped.
inline constexpr std::size_t kProbes = 64;

struct CountEntry {
    std::atomic<std::uint64_t> key, value;
};
struct Image {
    std::atomic<std::uint64_t> magic, dropped;
    CountEntry entries[kEntries];
};
static_assert(sizeof(Image) == kBytes && std::atomic<std::uint64_t>::is_always_lock_free);

/// Never 0, as no metric is.
constexpr std::uint64_t key_of(Metric metric, MetricLabels labels) {
    return std::uint64_t{static_cast<std::uint8_t>(metric)} << 56 | std::uint64_t{labels.tiny} << 48 |
           std::uint64_t{labels.small} << 32 | labels.name;
}
constexpr MetricCell cell_of(std::uint64_t key, std::uint64_t value) {
    return {
        static_cast<Metric>(key >> 56),
        {static_cast<std::uint32_t>(key), static_cast<std::uint16_t>(key >> 32), static_cast<std::uint8_t>(key >> 48)},
        value};
}

/// Null: there is none that this process may use.
Image* map(const std::filesystem::path& project, std::string_view program);

}  // namespace sluice::metric_file
