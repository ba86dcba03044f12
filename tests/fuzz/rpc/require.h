// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <cstdio>
#include <cstdlib>

/// A property that holds for every input: its failure is a finding, in every build type.
#define REQUIRE(condition)                                                       \
    do {                                                                         \
        if (!(condition)) {                                                      \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            std::abort();                                                        \
        }                                                                        \
    } while (false)
