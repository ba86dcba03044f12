// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A validator as three functions, which the project supplies.
#include <vector>

#include "boinc_db_types.h"

// What init_result() and compare_results() may return beside 0 and the numbers of error_numbers.h.
#define VAL_RESULT_SUSPICIOUS 1       // good, but not without a second one
#define VAL_RESULT_LONG_TERM_FAIL 2   // as any other error
#define VAL_RESULT_TRANSIENT_ERROR 3  // can't be told now: judged again later; ERR_OPENDIR, too

/// One of the two forms is supplied.
extern int init_result(const RESULT& result, void*& data);
extern int init_result(RESULT& result, void*& data);
extern int compare_results(RESULT& a, void* data_a, const RESULT& b, void* data_b, bool& match);
extern int cleanup_result(const RESULT& result, void* data);
