// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The tables that validators and assimilators of projects read. The daemon stores verdicts, credit and states.
#include <cstdio>
#include <cstring>
#include <vector>

#include "boinc_db_types.h"
#include "db_base.h"
#include "error_numbers.h"

struct DB_APP : DB_TABLE<APP> {};
struct DB_WORKUNIT : DB_TABLE<WORKUNIT> {};
struct DB_RESULT : DB_TABLE<RESULT> {};
struct DB_HOST : DB_TABLE<HOST> {};
struct DB_USER : DB_TABLE<USER> {};
struct DB_TEAM : DB_TABLE<TEAM> {};
/// Has no id: lookup("where host_id=... and app_version_id=..."), or hav_lookup().
struct DB_HOST_APP_VERSION : DB_TABLE<HOST_APP_VERSION> {};

/// The record of a host with a version, as generalized_app_version_id() numbers it.
extern int hav_lookup(DB_HOST_APP_VERSION& hav, DB_ID_TYPE hostid, DB_ID_TYPE generalized_version);
