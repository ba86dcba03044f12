#include "db/mysql/workunit_columns.h"

namespace sluice {

Workunit read_workunit(const Rows& r, int c) {
    Workunit w;
    w.id = r.i64(c++);
    w.name = r.text(c++);
    w.xml_doc = r.text(c++);
    w.appid = r.i64(c++);
    w.batch = r.i64(c++);
    w.rsc_fpops_est = r.f64(c++);
    w.rsc_fpops_bound = r.f64(c++);
    w.rsc_memory_bound = r.f64(c++);
    w.rsc_disk_bound = r.f64(c++);
    w.rsc_bandwidth_bound = r.f64(c++);
    w.need_validate = r.flag(c++);
    w.canonical_resultid = r.i64(c++);
    w.transition_time = r.i64(c++);
    w.delay_bound = r.i64(c++);
    w.error_mask = r.i32(c++);
    w.hr_class = r.i32(c++);
    w.target_nresults = r.i32(c++);
    w.result_template_file = r.text(c++);
    w.priority = r.i64(c++);
    w.app_version_id = r.i64(c++);
    w.size_class = r.i32(c++);
    w.keywords = r.text(c++);
    w.app_version_num = r.i32(c++);
    w.transitioner_flags = r.code<TransitionerFlags>(c++);
    return w;
}

}  // namespace sluice
