// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include "sluice/base/clock.h"
#include "sluice/base/rng.h"

namespace sluice {

/// What a program takes from the outside world besides files and the database. Both outlive their users.
struct Env {
    Clock& clock;
    Rng& rng;
};

}  // namespace sluice
