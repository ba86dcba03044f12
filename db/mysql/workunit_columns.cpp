// SPDX-License-Identifier: LGPL-3.0-or-later
#include "db/mysql/workunit_columns.h"

namespace sluice {

Workunit read_workunit(const Rows& r, int c) {
    Workunit w;
    r.read_from(c, w.id, w.name, w.xml_doc, w.appid, w.batch, w.rsc_fpops_est, w.rsc_fpops_bound, w.rsc_memory_bound,
                w.rsc_disk_bound, w.rsc_bandwidth_bound, w.need_validate, w.canonical_resultid, w.transition_time,
                w.delay_bound, w.error_mask, w.hr_class, w.target_nresults, w.result_template_file, w.priority,
                w.app_version_id, w.size_class, w.keywords, w.app_version_num, w.transitioner_flags);
    return w;
}

}  // namespace sluice
