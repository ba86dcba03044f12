// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include "boinc_db_types.h"
#include "sched_util_basic.h"
#include "util.h"

inline DB_ID_TYPE generalized_app_version_id(DB_ID_TYPE app_version_id, DB_ID_TYPE appid) {
    return app_version_id < 0 ? 1000000 * appid - app_version_id : app_version_id;
}
