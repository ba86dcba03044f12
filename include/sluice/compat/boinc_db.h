// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Projects' code includes this header for the rows. The daemon reads and writes the database: these types have no
// lookup() or update().
#include <cstdio>
#include <cstring>
#include <vector>

#include "boinc_db_types.h"
#include "error_numbers.h"

struct DB_APP : APP {};
struct DB_WORKUNIT : WORKUNIT {};
struct DB_RESULT : RESULT {};
