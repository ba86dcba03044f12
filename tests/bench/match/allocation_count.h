// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <cstdint>

/// Calls of operator new so far. Link allocation_count.cpp.
std::uint64_t allocation_count();
