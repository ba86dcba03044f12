// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Randomness, injected so that every decision can be replayed.
#include <cstdint>
#include <memory>

namespace sluice {

class Rng {
  public:
    virtual ~Rng() = default;
    /// 64 uniform random bits.
    virtual std::uint64_t next() = 0;
    /// Uniform in [0, 1).
    double uniform();
    /// Uniform integer in [0, n); n must be > 0.
    std::uint64_t below(std::uint64_t n);
    /// Standard normal deviate.
    double gaussian();
};

/// Seeded from the kernel.
std::unique_ptr<Rng> make_system_rng();
/// The same sequence for the same seed on every machine.
std::unique_ptr<Rng> make_seeded_rng(std::uint64_t seed);

}  // namespace sluice
