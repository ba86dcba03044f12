// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <stdexcept>

#include "sluice/base/rng.h"

namespace sluice::test {

/// FixedRng(7): a seeded sequence. FixedRng{7, 9}: scripted bits, in braces. A script that has run out is a
/// failed test, not a silent zero.
class FixedRng final : public Rng {
  public:
    explicit FixedRng(std::uint64_t seed = 1) : seeded_(make_seeded_rng(seed)) {}
    FixedRng(std::initializer_list<std::uint64_t> script) : script_(script) {}

    std::uint64_t next() override {
        if (seeded_) return seeded_->next();
        if (script_.empty()) throw std::logic_error("FixedRng: more random numbers asked for than scripted");
        const std::uint64_t value = script_.front();
        script_.pop_front();
        return value;
    }
    /// Bits for which uniform() returns u (rounded down to 53 bits).
    static std::uint64_t bits_for_uniform(double u) { return static_cast<std::uint64_t>(u * 0x1p53) << 11; }
    void push(std::uint64_t value) {
        seeded_.reset();
        script_.push_back(value);
    }
    std::size_t left() const { return script_.size(); }

  private:
    std::unique_ptr<Rng> seeded_;
    std::deque<std::uint64_t> script_;
};

}  // namespace sluice::test
