// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Time as every part of Sluice sees it: UNIX seconds, UTC. Injected, so that tests decide what "now" is.
#include <cstdint>

namespace sluice {

class Clock {
  public:
    virtual ~Clock() = default;
    /// Seconds since 1970-01-01 UTC, with fraction.
    virtual double now() const = 0;
    std::int64_t now_sec() const { return static_cast<std::int64_t>(now()); }
};

/// The machine's real-time clock.
class SystemClock final : public Clock {
  public:
    double now() const override;
};

/// For waits: goes on evenly when the machine's time is set. Seconds since some moment of the past, not a time of day.
class MonotonicClock final : public Clock {
  public:
    double now() const override;
};

}  // namespace sluice
