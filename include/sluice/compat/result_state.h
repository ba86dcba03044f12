// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Upstream had these states in a header of this name.
#include "common_defs.h"
