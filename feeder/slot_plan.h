// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Which app each slot belongs to with --allapps, and in which order slots are filled.
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice {

/// For each of `slots` slots an index into `weights`, interleaved so that every stretch of slots holds about the share
/// of each weight. 3:1 gives 0 1 0 0 0 1 0 0 … A weight of zero (or less) gets no slot; if all are zero, all are equal.
/// Empty if there are no weights.
std::vector<std::size_t> interleave(std::vector<double> weights, std::size_t slots);

/// The same slots in an order of which any beginning, and so any rest that stays empty, lies evenly over the array: a
/// request that looks at a part of it finds that part of each user's jobs.
std::vector<std::uint32_t> spread(std::vector<std::uint32_t> slots);

}  // namespace sluice
