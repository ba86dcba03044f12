// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <cstdint>

#include "tests/unit/oracle/rules.h"

namespace sluice::oracle {

/// A small project, a host, a request and a job array in which every rule matters now and then. The same for the same
/// seed.
World random_world(std::uint64_t seed);

}  // namespace sluice::oracle
