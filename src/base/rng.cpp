// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/base/rng.h"

#include <sys/random.h>

#include <cmath>
#include <numbers>
#include <random>

#include "sluice/base/error.h"

namespace sluice {
namespace {

/// The standard fixes mt19937_64's sequence, so a seed replays the same decisions on every machine.
class MersenneRng final : public Rng {
  public:
    explicit MersenneRng(std::uint64_t seed) : engine_(seed) {}
    std::uint64_t next() override { return engine_(); }

  private:
    std::mt19937_64 engine_;
};

}  // namespace

double Rng::uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

std::uint64_t Rng::below(std::uint64_t n) {
    // The first 2^64 mod n values are drawn again: otherwise small results would come up more often.
    const std::uint64_t uneven = (0 - n) % n;
    std::uint64_t x = next();
    while (x < uneven) x = next();
    return x % n;
}

double Rng::gaussian() {
    const double u = 1.0 - uniform();  // (0, 1]: log(0) can't happen
    const double v = uniform();
    return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
}

std::unique_ptr<Rng> make_system_rng() {
    std::uint64_t seed = 0;
    if (getrandom(&seed, sizeof seed, 0) != static_cast<ssize_t>(sizeof seed)) {
        throw Error("The kernel gives no random bytes (getrandom): is /dev/urandom usable?");
    }
    return make_seeded_rng(seed);
}

std::unique_ptr<Rng> make_seeded_rng(std::uint64_t seed) { return std::make_unique<MersenneRng>(seed); }

}  // namespace sluice
