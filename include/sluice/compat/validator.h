// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What the functions of a validator may read beside their arguments.
#include "sched_config.h"

/// --max_granted_credit; 0: no limit.
extern double max_granted_credit;
/// The workunit whose results are being judged.
extern WORKUNIT* g_wup;
/// Its app: id, name and target_nresults.
extern DB_APP* g_app;
