// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Randomness of the simulation: a generator of eight bytes for each host and each purpose, so that what one of them
// draws never changes what another does, and the same fleet meets every configuration.
#include <cmath>
#include <cstdint>
#include <numbers>

#include "sluice/base/rng.h"

namespace sluice::sim {

/// What is drawn by the programs, one purpose among those that runs draw for.
inline constexpr std::uint64_t kServerPurpose = 11;

/// SplitMix64.
class SmallRng final : public Rng {
  public:
    explicit SmallRng(std::uint64_t seed) : state_(seed) {}
    /// Of one thing among many of one kind.
    SmallRng(std::uint64_t seed, std::uint64_t kind, std::uint64_t number)
        : state_(SmallRng(SmallRng(seed).next() ^ (kind * 0x9E3779B97F4A7C15u)).next() + number * 0xD1B54A32D192ED03u) {
        next();
    }
    std::uint64_t next() override {
        std::uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        return z ^ (z >> 31);
    }

    bool chance(double part) { return uniform() < part; }
    double exponential(double mean) { return -mean * std::log(1 - uniform()); }
    double weibull(double shape, double mean) {
        return mean / std::tgamma(1 + 1 / shape) * std::pow(-std::log(1 - uniform()), 1 / shape);
    }
    /// Log-normal with that mean.
    double log_normal(double mean, double sigma) { return mean * std::exp(sigma * gaussian() - sigma * sigma / 2); }

  private:
    std::uint64_t state_;
};

}  // namespace sluice::sim
