// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sluice/db/database.h"
#include "sluice/shmem/scheduler_array.h"

namespace sluice::test {

/// `turns` times: takes `jobs` slots anywhere in the array, as one request does (the database first, then the array),
/// and waits until they are filled again; seconds, ascending. 60 stands for never.
std::vector<double> refill_times(Database& db, SchedulerArray& array, int turns, std::uint32_t jobs);

/// "median 1.0 ms, p99 2.0 ms, most 3.0 ms".
std::string text_of_times(const std::vector<double>& ascending);

}  // namespace sluice::test
