// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The columns of `workunit` that sending needs, in one order for SELECT and reading. The table is called w.
#include "sluice/db/database.h"
#include "sluice/model/records.h"

namespace sluice {

/// In the SET of an UPDATE of workunits: the row is written even if all else stays as it was. Where several nodes of a
/// cluster commit (Galera), a row lock holds on one node alone, and an UPDATE that changes nothing is not certified
/// against the others' commits.
#define SLUICE_REAL_WRITE "mod_time=IF(mod_time=NOW(),NOW()-INTERVAL 1 SECOND,NOW())"

#define SLUICE_WORKUNIT_COLUMNS                                                                                    \
    "w.id,w.name,w.xml_doc,w.appid,w.batch,w.rsc_fpops_est,w.rsc_fpops_bound,w.rsc_memory_bound,w.rsc_disk_bound," \
    "w.rsc_bandwidth_bound,w.need_validate,w.canonical_resultid,w.transition_time,w.delay_bound,w.error_mask,"     \
    "w.hr_class,w.target_nresults,w.result_template_file,w.priority,w.app_version_id,w.size_class,w.keywords,"     \
    "w.app_version_num,w.transitioner_flags"

Workunit read_workunit(const Rows& rows, int at);

}  // namespace sluice
