// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A project with one app on a real MariaDB, and the programs of the work chain to run in it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "sluice/base/files.h"
#include "sluice/base/hash.h"
#include "tests/support/private_mariadb.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {

class WorkChain : public testing::Test {
  protected:
    WorkChain() : db_(PrivateMariaDb::shared().settings(name())) {
        truncate_all_tables(db_);
        project_.write(
            "config.xml",
            "<boinc><config>" + PrivateMariaDb::shared().config_elements(name()) +
                "<download_url>http://h/download</download_url><download_dir>" + (project_ / "download").string() +
                "</download_dir><upload_dir>" + (project_ / "upload").string() +
                "</upload_dir><upload_url>http://h/fuh</upload_url><uldl_dir_fanout>1024</uldl_dir_fanout>"
                "<cache_md5_info>1</cache_md5_info><daily_result_quota>10</daily_result_quota></config></boinc>");
        project_.write("templates/a_in",
                       "<file_info/><workunit><file_ref><open_name>in</open_name></file_ref></workunit>");
        project_.write("templates/a_out", "<file_info><name><OUTFILE_0/></name></file_info><result>\n</result>");
        fs::create_directories(project_ / "cgi-bin");
        fs::create_directories(project_ / "bin");
        fs::create_directories(project_ / "upload");
        fs::create_directories(project_ / "download");
        db_.execute(Sql(
            "INSERT INTO app (id, create_time, name, min_version, deprecated, user_friendly_name, homogeneous_redundancy, "
            "weight, beta, target_nresults, min_avg_pfc, host_scale_check, homogeneous_app_version, non_cpu_intensive, "
            "locality_scheduling, n_size_classes, fraction_done_exact) VALUES (1,0,'a',0,0,'A',0,1,0,0,1,0,0,0,0,3,0)"));
    }
    static std::string name() {
        static const bool made = [] {
            PrivateMariaDb::shared().create_project_database("work");
            return true;
        }();
        return made ? "work" : "";
    }
    RunResult run_program(std::vector<std::string> args, const std::string& in = "") {
        args[0] = std::string(SLUICE_BIN) + "/" + args[0];
        RunOptions options;
        options.env["BOINC_PROJECT_DIR"] = project_.path().string();
        options.stdin_text = in;
        options.cwd = project_.path();
        return run(args, options);
    }
    void stage(const std::string& file, const std::string& text = "x") {
        project_.write(file, text);
        ASSERT_EQ(run_program({"stage_file", file}).status, 0);
    }
    std::int64_t count(SqlLiteral where) {
        return number_of(db_, Sql("SELECT COUNT(*) FROM workunit WHERE ") << where);
    }

    /// A result of workunit `wu` that host `host` returned with output `text`.
    void returned(Id id, Id wu, Id host, const std::string& text, double elapsed = 100) {
        const std::string out = "w_" + std::to_string(id) + "_r1_0";
        const std::string doc = "<file_info>\n<name>" + out + "</name>\n</file_info>\n<result>\n<file_ref><file_name>" +
                                out + "</file_name><open_name>out</open_name></file_ref>\n</result>\n";
        insert_result(id, wu, host, 5, 1, doc, elapsed);
        db_.execute(
            Sql("INSERT IGNORE INTO host_app_version (host_id, app_version_id, pfc_n, pfc_avg, et_n, et_avg, et_var, et_q, "
                "max_jobs_per_day, n_jobs_today, turnaround_n, turnaround_avg, turnaround_var, turnaround_q, "
                "consecutive_valid) VALUES (")
            << host << ",7,0,0,0,0,0,0,0,0,0,0,0,0,0)");
        const auto path = fanout_path(project_ / "upload", out, 1024);
        fs::create_directories(path.parent_path());
        std::ofstream(path) << text;
    }
    void insert_result(Id id, Id wu, Id host, int state, int outcome, const std::string& doc, double elapsed = 0) {
        Sql sql(
            "INSERT INTO result (id, create_time, workunitid, server_state, outcome, client_state, hostid, userid, "
            "report_deadline, sent_time, received_time, name, cpu_time, xml_doc_in, xml_doc_out, stderr_out, batch, "
            "file_delete_state, validate_state, claimed_credit, granted_credit, opaque, random, app_version_num, appid, "
            "exit_status, teamid, priority, elapsed_time, flops_estimate, app_version_id, runtime_outlier, size_class, "
            "peak_working_set_size, peak_swap_size, peak_disk_usage) VALUES (");
        sql << id << ",0," << wu << "," << state << "," << outcome << ",5," << host << "," << host << ",0,1000,5000,"
            << SqlText{"w_" + std::to_string(id)} << "," << elapsed << "," << SqlBlob{doc}
            << ",'','',0,0,0,0,0,0,0,100,1,0,0,0," << elapsed << ",2e9,7,0,-1,0,0,0)";
        db_.execute(sql);
    }
    void make_workunit(int quorum) {
        stage("in" + std::to_string(quorum));
        const auto q = std::to_string(quorum);
        ASSERT_EQ(
            run_program({"create_work", "--appname", "a", "--wu_name", "w", "--min_quorum", q, "--target_nresults", q,
                         "--max_success_results", "5", "--max_total_results", "9", "--rsc_fpops_est", "1e12", "in" + q})
                .status,
            0);
        db_.execute(Sql("UPDATE workunit SET need_validate=1"));
    }
    std::vector<std::vector<std::string>> results() {
        return rows_of(db_, Sql("SELECT id, server_state, outcome, validate_state FROM result ORDER BY id"), 4);
    }

    TempDir project_;
    Database db_;
    std::optional<Subprocess> pending_;
};
using Table = std::vector<std::vector<std::string>>;

}  // namespace sluice::test
