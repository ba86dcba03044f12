// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The daemon grants credit: what is left here are rates.
#include "boinc_db.h"

inline double fpops_to_credit(double fpops) { return fpops * COBBLESTONE_SCALE; }
inline double cpu_time_to_credit(double cpu_time, double flops) { return fpops_to_credit(cpu_time * flops); }
