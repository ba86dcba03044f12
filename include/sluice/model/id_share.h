// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <cstdint>

namespace sluice {

/// --mod N I: only rows with id mod n = i, so that several copies of a program share the work. n = 0: all rows.
struct IdShare {
    std::int64_t n = 0, i = 0;
    friend bool operator==(const IdShare&, const IdShare&) = default;
};

}  // namespace sluice
