// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A validator as three functions, which the project supplies; or, in their place, check_set() and check_pair().
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

/// Decides on results that have come, at least wu.min_quorum of them. Of each it may set outcome
/// (RESULT_OUTCOME_VALIDATE_ERROR), validate_state, claimed_credit and opaque. `canonical`: the id of the canonical
/// result, if there is one now; 0: not yet. `credit` is not looked at. `retry`: all comes again later. Not 0: likewise.
extern int check_set(std::vector<RESULT>& results, WORKUNIT& wu, DB_ID_TYPE& canonical, double& credit, bool& retry);
/// Compares a result that has come late with the canonical one, and sets its validate_state.
extern void check_pair(RESULT& result, RESULT& canonical, bool& retry);
