// SPDX-License-Identifier: LGPL-3.0-or-later
#include "db/mysql/unsent_jobs.h"

namespace sluice {

Sql select_unsent_jobs() {
    return Sql(
        "SELECT r.id, r.name, r.priority, r.report_deadline, r.server_state, r.create_time, "
        "w.id, w.appid, w.name, w.xml_doc, w.batch, w.rsc_fpops_est, w.rsc_fpops_bound, w.rsc_memory_bound, "
        "w.rsc_disk_bound, w.rsc_bandwidth_bound, w.canonical_resultid, w.delay_bound, w.error_mask, w.hr_class, "
        "w.target_nresults, w.priority, w.app_version_id, w.transitioner_flags, w.size_class, w.keywords, "
        "w.app_version_num, INSTR(r.xml_doc_in, '<result>') > 0 AND LOCATE('</result>', r.xml_doc_in, "
        "INSTR(r.xml_doc_in, '<result>')) > 0");
}

UnsentJob read_unsent_job(const Rows& rows) {
    UnsentJob job;
    Result& r = job.result;
    Workunit& w = job.workunit;
    rows.read(r.id, r.name, r.priority, r.report_deadline, r.server_state, r.create_time, w.id, w.appid, w.name,
              w.xml_doc, w.batch, w.rsc_fpops_est, w.rsc_fpops_bound, w.rsc_memory_bound, w.rsc_disk_bound,
              w.rsc_bandwidth_bound, w.canonical_resultid, w.delay_bound, w.error_mask, w.hr_class, w.target_nresults,
              w.priority, w.app_version_id, w.transitioner_flags, w.size_class, w.keywords, w.app_version_num,
              job.result_is_whole);
    r.workunitid = w.id, r.appid = w.appid;
    return job;
}

}  // namespace sluice
