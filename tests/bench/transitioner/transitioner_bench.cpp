// SPDX-License-Identifier: LGPL-3.0-or-later
// How fast the transitioner makes the results of new workunits: `transitioner --one_pass` on a MariaDB of its own that
// syncs what it commits. Prints workunits per second, the transitioner's own CPU time (user and system; neither the
// server's nor that of anything else that this program runs), statements and peak memory.
#include <fmt/core.h>

#include <cstdlib>

#include "tests/bench/flow/measured_run.h"
#include "tests/support/leave_root.h"
#include "tests/support/paths.h"
#include "tests/support/syncing_mariadb.h"
#include "tests/support/temp_dir.h"

using namespace sluice;
using namespace sluice::test;

namespace {

void add_workunits(Database& db, int n) {
    Sql sql(
        "insert into workunit (create_time,appid,name,xml_doc,batch,rsc_fpops_est,rsc_fpops_bound,rsc_memory_bound,"
        "rsc_disk_bound,need_validate,canonical_resultid,canonical_credit,transition_time,delay_bound,error_mask,"
        "file_delete_state,assimilate_state,hr_class,opaque,min_quorum,target_nresults,max_error_results,"
        "max_total_results,max_success_results,result_template_file,priority,rsc_bandwidth_bound,fileset_id,"
        "app_version_id,transitioner_flags,keywords,app_version_num) "
        "select 1,1,concat('wu_bench_',seq),repeat('x',600),0,0,0,0,0,0,0,0,unix_timestamp()-10,604800,0,0,0,0,0,1,1,3,"
        "5,2,'templates/out',0,0,0,0,0,'',0 from (select seq from seq_1_to_10000000 limit ");
    db.execute(sql << n << ") numbers");
}

}  // namespace

int main(int argc, char** argv) {
    sluice::test::leave_root(argv);
    const int n = argc > 1 ? std::atoi(argv[1]) : 100000;
    PrivateMariaDb server(syncing_mariadb(n < 10000 ? 64 : 1024));
    Database db(server.create_project_database("bench"));
    TempDir project;
    project.write("config.xml",
                  "<boinc><config>" + server.config_elements("bench") +
                      "<upload_url>http://x/upload</upload_url>"
                      "<dont_generate_upload_certificates>1</dont_generate_upload_certificates></config></boinc>");
    project.write(
        "templates/out",
        "<file_info>\n    <name><OUTFILE_0/></name>\n    <generated_locally/>\n    <upload_when_present/>\n"
        "    <max_nbytes>5000000</max_nbytes>\n    <url><UPLOAD_URL/></url>\n</file_info>\n<result>\n    <file_ref>\n"
        "        <file_name><OUTFILE_0/></file_name>\n        <open_name>out</open_name>\n    </file_ref>\n</result>\n");
    add_workunits(db, n);
    const std::string log = (project / "log").string();
    const Cost cost = measured_run(db, project.path().string(),
                                   {sluice::test::binary_dir() + "/bin/transitioner", "--one_pass"}, log);
    const std::int64_t made = number_of(db, Sql("select count(*) from result"));
    fmt::print(
        "{} workunits, {} results in {:.2f} s: {:.0f}/s; the transitioner itself {:.2f} s CPU ({:.0f} us a workunit), {} "
        "statements, {} MB peak\n",
        n, made, cost.seconds, n / cost.seconds, cost.cpu, 1e6 * cost.cpu / n, cost.statements, cost.peak_mb);
    if (cost.status != 0 || made != n) {
        fmt::print("FAILED: status {}\n{}\n", cost.status, cost.last_line);
        return 1;
    }
    return 0;
}
