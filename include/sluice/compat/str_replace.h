// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <cstddef>

// Copies or adds what fits into `size` bytes, and always ends it with 0. How long it would have been.
extern std::size_t strlcpy(char* to, const char* from, std::size_t size);
extern std::size_t strlcat(char* to, const char* from, std::size_t size);
