// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/base/metrics.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <iterator>

#include "src/base/metrics_file.h"

namespace sluice {
namespace {

metric_file::Image g_own_counts;  ///< until there is a file
std::atomic<metric_file::Image*> g_counts{&g_own_counts};

/// Null: no place is left for this key.
std::atomic<std::uint64_t>* place_of(metric_file::Image& counts, std::uint64_t key) {
    constexpr std::uint64_t kSpread = 0x9E3779B97F4A7C15;
    std::size_t at = (key * kSpread >> 32) % metric_file::kEntries;
    for (std::size_t probe = 0; probe < metric_file::kProbes; ++probe) {
        metric_file::CountEntry& entry = counts.entries[at];
        std::uint64_t there = entry.key.load(std::memory_order_relaxed);
        if (there == 0 && entry.key.compare_exchange_strong(there, key, std::memory_order_relaxed)) there = key;
        if (there == key) return &entry.value;
        at = at + 1 == metric_file::kEntries ? 0 : at + 1;
    }
    counts.dropped.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
}

std::atomic<std::uint64_t>* place_of(Metric metric, MetricLabels labels) {
    return place_of(*g_counts.load(std::memory_order_acquire), metric_file::key_of(metric, labels));
}

}  // namespace

void metrics_open(const std::filesystem::path& project, std::string_view program) noexcept {
    try {
        // What was mapped before stays mapped: another thread may be counting there.
        if (metric_file::Image* const image = metric_file::map(project, program))
            g_counts.store(image, std::memory_order_release);
    } catch (const std::exception&) {  // no memory, say: who counts has something better to do
    }
}

void count_metric(Metric metric, MetricLabels labels, std::uint64_t n) noexcept {
    if (n == 0) return;
    if (auto* const value = place_of(metric, labels)) value->fetch_add(n, std::memory_order_relaxed);
}

void set_metric(Metric metric, MetricLabels labels, std::uint64_t value) noexcept {
    if (auto* const place = place_of(metric, labels)) place->store(value, std::memory_order_relaxed);
}

void observe_metric(Metric metric, MetricLabels labels, double seconds) noexcept {
    constexpr double kMost = 1e9;
    const double took = std::isfinite(seconds) ? std::clamp(seconds, 0.0, kMost) : 0;
    const auto bucket = std::lower_bound(std::begin(kMetricBuckets), std::end(kMetricBuckets), took);
    labels.tiny = 0;
    count_metric(metric, labels, static_cast<std::uint64_t>(std::llround(took * 1e6)));
    labels.tiny = static_cast<std::uint8_t>(1 + (bucket - std::begin(kMetricBuckets)));
    count_metric(metric, labels);
}

}  // namespace sluice
