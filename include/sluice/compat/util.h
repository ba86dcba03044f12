// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <cstdlib>
#include <string>
#include <vector>

#include "common_defs.h"

#define SECONDS_PER_DAY 86400
#define KILO (1024.)
#define MEGA (1024. * KILO)
#define GIGA (1024. * MEGA)

/// UNIX time, with fractions.
extern double dtime();
extern void boinc_sleep(double seconds);
/// From 0 to 1.
inline double drand() { return static_cast<double>(std::rand()) / RAND_MAX; }
