// SPDX-License-Identifier: LGPL-3.0-or-later
// The program itself: two at once, killed at any moment, the database killed under it, and what it says when something
// is wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/support/paths.h"
#include "tests/support/private_mariadb.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;

constexpr const char* kTemplate =
    "<file_info>\n<name><OUTFILE_0/></name>\n<max_nbytes>10</max_nbytes>\n<url><UPLOAD_URL/></url>\n</file_info>\n"
    "<result>\n<file_ref>\n<file_name><OUTFILE_0/></file_name>\n</file_ref>\n</result>\n";

class Process : public testing::Test {
  protected:
    Process() : db(server().create_project_database("proc")) {
        project.write("templates/out", kTemplate);
        std::filesystem::create_directories(project / "cgi-bin");
        configure("<dont_generate_upload_certificates>1</dont_generate_upload_certificates>");
    }
    static PrivateMariaDb& server() {
        // Commits must survive kill -9 of the server.
        static PrivateMariaDb own({.flush_log_at_trx_commit = 1});
        return own;
    }
    void configure(const std::string& more) {
        project.write("config.xml", "<boinc><config>" + server().config_elements("proc") + "<upload_url>" + upload_url +
                                        "</upload_url>"
                                        "<daily_result_quota>100</daily_result_quota>" +
                                        more + "</config></boinc>");
    }
    std::vector<std::string> command(const std::vector<std::string>& args) const {
        std::vector<std::string> all = {sluice::test::binary_dir().append("/bin/transitioner")};
        all.insert(all.end(), args.begin(), args.end());
        return all;
    }
    RunOptions in_project() const {
        return {.env = {{"BOINC_PROJECT_DIR", project.path().string()}}, .cwd = project.path()};
    }
    RunResult transitioner(const std::vector<std::string>& args) { return run(command(args), in_project()); }
    std::unique_ptr<Subprocess> start(const std::vector<std::string>& args) {
        return std::make_unique<Subprocess>(command(args), in_project());
    }
    void add_workunits(int n, int target) {
        Sql sql(
            "insert into workunit (create_time,appid,name,batch,rsc_fpops_est,rsc_fpops_bound,rsc_memory_bound,"
            "rsc_disk_bound,need_validate,canonical_resultid,canonical_credit,transition_time,delay_bound,"
            "error_mask,file_delete_state,assimilate_state,hr_class,opaque,min_quorum,target_nresults,"
            "max_error_results,max_total_results,max_success_results,result_template_file,priority,"
            "rsc_bandwidth_bound,fileset_id,app_version_id,transitioner_flags,keywords,app_version_num) "
            "select 1,1,concat('wu_',seq),0,0,0,0,0,0,0,0,unix_timestamp()-10,1000,0,0,0,0,0,1,");
        sql << target << ",10,20,10,'templates/out',0,0,0,0,0,'',0 from (select seq from seq_1_to_100000 limit " << n
            << ") s";
        db.execute(sql);
    }
    std::int64_t number(SqlLiteral query) { return number_of(db, Sql(query)); }
    std::int64_t results() { return number("select count(*) from result"); }
    void expect_each_made_once(int workunits, int target) {
        EXPECT_EQ(results(), static_cast<std::int64_t>(workunits) * target);
        Sql wrong(
            "select count(*) from (select w.id, count(r.id) c from workunit w left join result r on r.workunitid=w.id "
            "group by w.id having c<>");
        wrong << target << ") x";
        EXPECT_EQ(number_of(db, wrong), 0);
        EXPECT_EQ(number("select count(*) from workunit where transition_time<unix_timestamp()+800000"), 0);
    }

    std::string upload_url = "http://x/upload";
    TempDir project;
    Database db;
};

TEST_F(Process, OnePassDoesAllDueAndExits) {
    add_workunits(2500, 1);
    const RunResult result = transitioner({"--one_pass"});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr("2500 workunits, 2500 results made"));
    expect_each_made_once(2500, 1);
}

TEST_F(Process, TwoWithoutModDoNotCollide) {
    add_workunits(4000, 2);
    auto first = start({"--one_pass"}), second = start({"--one_pass"});
    for (auto* process : {first.get(), second.get()}) {
        const auto result = process->wait();
        ASSERT_TRUE(result);
        EXPECT_EQ(result->status, 0) << result->err;
    }
    expect_each_made_once(4000, 2);
}

TEST_F(Process, TwoWithModShareTheWork) {
    add_workunits(1000, 1);
    EXPECT_EQ(transitioner({"--one_pass", "--mod", "2", "0"}).status, 0);
    EXPECT_EQ(number("select count(*) from result where workunitid mod 2=1"), 0);
    EXPECT_EQ(results(), 500);
    EXPECT_EQ(transitioner({"-one_pass", "-mod", "2", "1"}).status, 0);
    expect_each_made_once(1000, 1);
}

TEST_F(Process, OptionsOfPriorityAndDeletionHaveAnEffect) {
    const std::string no_key = "<dont_generate_upload_certificates>1</dont_generate_upload_certificates>";
    add_workunits(2, 1);
    ASSERT_EQ(transitioner({"--one_pass"}).status, 0);
    const auto replacement_after = [&](int outcome, const std::string& option) {
        db.execute(Sql("update result set server_state=5, outcome=") << outcome << ", received_time=1");
        db.execute(Sql("update workunit set transition_time=1"));
        configure(no_key + option);
        EXPECT_EQ(transitioner({"--one_pass"}).status, 0);
        return number("select max(priority) from result where server_state=2");
    };
    constexpr int kClientError = 3, kNoReply = 4;
    EXPECT_EQ(replacement_after(kNoReply, ""), 0);
    EXPECT_EQ(replacement_after(kClientError, "<reliable_priority_on_over>7</reliable_priority_on_over>"), 7);
    db.execute(Sql("delete from result where outcome=") << kClientError);
    EXPECT_EQ(replacement_after(kNoReply,
                                "<reliable_priority_on_over_except_error>5</reliable_priority_on_over_except_error>"),
              5);
    db.execute(
        Sql("update result set server_state=5, outcome=1, validate_state=1, received_time=unix_timestamp()-7200"));
    db.execute(
        Sql("update workunit w set assimilate_state=2, transition_time=1, canonical_resultid="
            "(select max(id) from result r where r.workunitid=w.id)"));
    const auto deletable_after = [&](const std::string& hours) {
        configure(no_key + "<delete_delay_hours>" + hours + "</delete_delay_hours>");
        db.execute(Sql("update workunit set transition_time=1"));
        EXPECT_EQ(transitioner({"--one_pass"}).status, 0);
        return number("select count(*) from workunit where file_delete_state=1");
    };
    EXPECT_EQ(deletable_after("3"), 0);
    EXPECT_EQ(deletable_after("1"), 2);
}

TEST_F(Process, UploadsGoWhereTheConfigurationSays) {
    for (const std::string url : {"http://one/fuh", "http://another/fuh"}) {
        upload_url = url;
        configure("<dont_generate_upload_certificates>1</dont_generate_upload_certificates>");
        db.execute(Sql("delete from workunit"));
        db.execute(Sql("delete from result"));
        add_workunits(1, 1);
        ASSERT_EQ(transitioner({"--one_pass"}).status, 0);
        EXPECT_THAT(rows_of(db, Sql("select xml_doc_in from result"), 1).at(0).at(0),
                    testing::HasSubstr("<url>" + url + "</url>"));
    }
}

TEST_F(Process, OneWorkunitOnly) {
    add_workunits(3, 1);
    db.execute(Sql("update workunit set transition_time=2147483647"));
    EXPECT_EQ(transitioner({"--wu_id", "2"}).status, 0);
    EXPECT_EQ(number("select workunitid from result"), 2);
    EXPECT_EQ(results(), 1);
}

TEST_F(Process, AKillAtAnyMomentLosesNothing) {
    add_workunits(6000, 1);
    int in_the_middle = 0;
    for (int round = 1; round <= 5; ++round) {
        auto process = start({"--sleep_interval", "1"});
        const std::int64_t wanted = round * 700;
        ASSERT_TRUE(eventually([&] { return results() >= wanted; })) << process->err();
        process->send_signal(SIGKILL);
        process->wait();
        in_the_middle += results() < 6000 ? 1 : 0;
    }
    EXPECT_GE(in_the_middle, 1);
    EXPECT_EQ(transitioner({"--one_pass"}).status, 0);
    expect_each_made_once(6000, 1);
}

TEST_F(Process, ADatabaseThatDiesAndComesBack) {
    add_workunits(20000, 1);
    auto process = start({"--sleep_interval", "1"});
    ASSERT_TRUE(eventually([&] { return results() >= 400; }));
    server().kill();
    ASSERT_TRUE(process->wait_for_output("trying again")) << process->err();
    EXPECT_TRUE(process->running());
    server().start();
    EXPECT_TRUE(eventually([&] { return results() == 20000; }, 300)) << process->err();
    EXPECT_TRUE(process->wait_for_output("The database answers again"));  // after the pass that found it back
    process->send_signal(SIGTERM);
    const auto result = process->wait();
    ASSERT_TRUE(result);
    EXPECT_EQ(result->status, 0);
    EXPECT_EQ(transitioner({"--one_pass"}).status, 0);
    expect_each_made_once(20000, 1);
}

// A reporter of upstream's kind (every statement its own commit, the result before the workunit) against overdue
// results: whoever is first wins, and nobody's word is overwritten.
TEST_F(Process, ReportsAndTimeOutsDoesntOverwriteEachOther) {
    add_workunits(1500, 1);
    ASSERT_EQ(transitioner({"--one_pass"}).status, 0);
    db.execute(Sql(
        "update result set server_state=4, hostid=1+id mod 7, app_version_id=5, report_deadline=unix_timestamp()-1"));
    db.execute(Sql("update workunit set transition_time=unix_timestamp()-1"));
    std::map<Id, Id> workunit_of;
    for (const auto& row : rows_of(db, Sql("select id, workunitid from result"), 2))
        workunit_of[std::stoll(row[0])] = std::stoll(row[1]);
    std::vector<Id> reported;
    std::thread reporter([&] {
        Database own(server().settings("proc"));
        for (auto at = workunit_of.rbegin(); at != workunit_of.rend(); ++at) {
            const Id id = at->first;
            Sql report(
                "update result set server_state=5, outcome=1, validate_state=0, received_time=unix_timestamp() where id=");
            if (own.execute(report << id << " and server_state=4") != 1) continue;
            reported.push_back(id);
            Sql wake("update workunit set transition_time=unix_timestamp()-1 where id=");
            own.execute(wake << at->second);
        }
    });
    auto first = start({"--sleep_interval", "1"}), second = start({"--sleep_interval", "1"});
    reporter.join();
    EXPECT_TRUE(eventually(
        [&] { return number("select count(*) from workunit where transition_time<unix_timestamp()") == 0; }));
    for (auto* process : {first.get(), second.get()}) {
        ASSERT_TRUE(eventually([&] { return process->catches(SIGTERM); })) << process->err();
        process->send_signal(SIGTERM);
        const auto result = process->wait();
        ASSERT_TRUE(result);
        EXPECT_EQ(result->status, 0) << result->err;
    }
    EXPECT_EQ(number("select count(*) from result where outcome=1"), static_cast<std::int64_t>(reported.size()));
    EXPECT_EQ(number("select count(*) from result where outcome=4"), 1500 - static_cast<std::int64_t>(reported.size()));
    EXPECT_EQ(number("select count(*) from result where server_state=2"),
              1500 - static_cast<std::int64_t>(reported.size()));
    EXPECT_EQ(number("select count(*) from workunit where need_validate=1"),
              static_cast<std::int64_t>(reported.size()));
    EXPECT_EQ(number("select ifnull(sum(turnaround_n),0) from host_app_version"),
              1500 - static_cast<std::int64_t>(reported.size()));
}

TEST_F(Process, OneMissingTemplateStopsNobodyElse) {
    add_workunits(50, 1);
    db.execute(Sql("update workunit set result_template_file='templates/none' where id=7"));
    const RunResult result = transitioner({"--one_pass"});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(result.err, testing::AllOf(HasSubstr("[WU#7 wu_7]"), HasSubstr("templates/none is missing")));
    EXPECT_EQ(results(), 49);
    EXPECT_EQ(
        number("select transition_time between unix_timestamp()+200 and unix_timestamp()+300 from workunit where id=7"),
        1);
}

TEST_F(Process, SaysWhatIsWrong) {
    add_workunits(1, 1);
    configure("");
    RunResult result = transitioner({"--one_pass"});
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, HasSubstr("upload_private"));
    EXPECT_EQ(results(), 0);
    configure("<dont_generate_upload_certificates/><db_user>nobody_we_know</db_user>");
    result = transitioner({"--one_pass"});
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, HasSubstr("<db_user>"));
    configure("<dont_generate_upload_certificates/>");
    for (const std::vector<std::string>& args : {std::vector<std::string>{"--mod", "2", "2"},
                                                 {"--mod", "0", "0"},
                                                 {"--mod", "2"},
                                                 {"--no_such_option"},
                                                 {"--wu_id"},
                                                 {"--wu_id", "0"},
                                                 {"--wu_id", "-1"},
                                                 {"--sleep_interval", "-1"}}) {
        result = transitioner(args);
        EXPECT_EQ(result.status, 1) << testing::PrintToString(args);
        EXPECT_FALSE(result.err.empty());
    }
    EXPECT_EQ(transitioner({"--help"}).status, 0);
    EXPECT_EQ(transitioner({"--version"}).status, 0);
    std::filesystem::remove(project / "config.xml");
    EXPECT_EQ(transitioner({"--one_pass"}).status, 1);
}

TEST_F(Process, StopsOnTheTriggerFileAndOnSignals) {
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
        auto process = start({});
        ASSERT_TRUE(eventually([&] { return process->catches(signal); })) << process->err();
        process->send_signal(signal);
        const auto result = process->wait();
        ASSERT_TRUE(result) << signal;
        EXPECT_EQ(result->status, 0) << result->err;
    }
    auto process = start({});
    project.write("stop_daemons", "<stop/>\n");
    const auto result = process->wait();
    ASSERT_TRUE(result);
    EXPECT_EQ(result->status, 0);
}

}  // namespace
}  // namespace sluice::test
