// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include "sluice/base/clock.h"

namespace sluice::test {

/// A clock that stands still until a test moves it.
class FakeClock final : public Clock {
  public:
    explicit FakeClock(double start = 1'700'000'000) : now_(start) {}
    double now() const override { return now_; }
    void set(double t) { now_ = t; }
    void advance(double seconds) { now_ += seconds; }

  private:
    double now_;
};

}  // namespace sluice::test
