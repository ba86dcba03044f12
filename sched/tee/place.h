// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What the tee and `sluice shadow --tee` have agreed on. The tee stands in the place of cgi-bin/cgi; everything lies
// beside it, so that it needs no configuration.
#include <cstddef>
#include <cstdint>

#include "sluice/base/tee_mark.h"

namespace sluice::tee {

/// Below cgi-bin: the socket of the shadow.
inline constexpr const char* kSocket = ".sluice_shadow";

/// A larger request is not copied: that would cost more than a millisecond.
inline constexpr std::size_t kMostBytes = 256 * 1024;

/// What the tee says to the shadow in one packet, beside two files in memory, for reading: the request, and what the
/// reply grows in. The link ends with the scheduler: then the reply is whole.
struct Hello {
    std::uint32_t version = 0;
    std::uint32_t request_bytes = 0;
    std::uint64_t shown_at = 0;  ///< ns of CLOCK_MONOTONIC
};
inline constexpr std::uint32_t kVersion = 1;
/// So many wait for a shadow that does not look; the next one is not copied.
inline constexpr int kBacklog = 32;

}  // namespace sluice::tee
