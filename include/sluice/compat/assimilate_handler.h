// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// An assimilator as three functions, which the project supplies.
#include <vector>

#include "boinc_db.h"

/// It comes again later, as after any other number but 0.
#define DEFER_ASSIMILATION 123321

/// `canonical` is empty (id 0) if wu.canonical_resultid is 0. Neither 0 nor DEFER_ASSIMILATION: it comes again later.
extern int assimilate_handler(WORKUNIT& wu, std::vector<RESULT>& results, RESULT& canonical);
/// The words of the command line that the daemon does not know, behind the program's name. Not 0: it does not start.
extern int assimilate_handler_init(int argc, char** argv);
/// Prints its own options.
extern void assimilate_handler_usage();
