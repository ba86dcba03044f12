// SPDX-License-Identifier: LGPL-3.0-or-later
// Handlers of trickle messages, and requests to hosts for files, as programs on a real MariaDB. The numbers are those
// that upstream's programs wrote.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "daemons/messages/file_requests.h"
#include "daemons/messages/trickle.h"
#include "sluice/base/files.h"
#include "tests/db/batch/killed_program.h"
#include "tests/support/database_rows.h"
#include "tests/support/fake_clock.h"
#include "tests/support/private_mariadb.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;

class Messages : public testing::Test {
  protected:
    Messages() : db_(settings()), store_(make_message_store(db_)), clock_(1800000000) {
        truncate_all_tables(db_);
        project_.write(
            "config.xml",
            "<boinc><config>" + PrivateMariaDb::shared().config_elements("messages") +
                "<msg_to_host/><uldl_dir_fanout>1024</uldl_dir_fanout><upload_url>http://h/fuh</upload_url><download_url>http://h/d</download_url>"
                "<download_dir>" +
                (project_ / "download").string() +
                "</download_dir>"
                "<dont_generate_upload_certificates/></config></boinc>");
        fs::create_directories(project_ / "bin");
    }
    static DbSettings settings() {
        static const DbSettings made = PrivateMariaDb::shared().create_project_database("messages");
        return made;
    }
    void host(Id id, double speed, double total, double average, double time, Id userid = 1) {
        Sql sql(
            "INSERT INTO host (id, create_time, userid, p_fpops, total_credit, expavg_credit, expavg_time) VALUES (");
        db_.execute(sql << id << ",1," << userid << "," << speed << "," << total << "," << average << "," << time
                        << ")");
    }
    void user(Id id, Id team) {
        Sql sql(
            "INSERT INTO user (id, create_time, email_addr, name, authenticator, teamid, total_credit, expavg_credit, expavg_time) VALUES (");
        const std::string name = "u" + std::to_string(id);
        db_.execute(sql << id << ",1," << SqlText{name} << "," << SqlText{name} << "," << SqlText{name} << "," << team
                        << ",5,0,0)");
        Sql row(
            "INSERT IGNORE INTO team (id, create_time, userid, name, type, nusers, total_credit, expavg_time) VALUES (");
        db_.execute(row << team << ",1,1,'t',1,1,7,0)");
    }
    void message(Id id, Id hostid, const std::string& variety, const std::string& xml) {
        Sql sql("INSERT INTO msg_from_host (id, create_time, hostid, variety, handled, xml) VALUES (");
        db_.execute(sql << id << ",5," << hostid << "," << SqlText{variety} << ",0," << SqlBlob{xml} << ")");
    }
    RunResult run_program(std::vector<std::string> words) {
        words[0] = std::string(SLUICE_BIN) + "/" + words[0];
        RunOptions options;
        options.env["BOINC_PROJECT_DIR"] = project_.path().string();
        return run(words, options);
    }
    std::string text(const Sql& sql) {
        const auto rows = rows_of(db_, sql, 1);
        return rows.empty() ? "(none)" : rows[0][0];
    }
    std::int64_t handled() { return number_of(db_, Sql("SELECT COUNT(*) FROM msg_from_host WHERE handled=1")); }

    TempDir project_;
    Database db_;
    std::unique_ptr<MessageStore> store_;
    FakeClock clock_;
};

TEST_F(Messages, EchoAnswersItsVarietyOnly) {
    message(1, 11, "echo", "<msg>hello 'quoted' \\ \xc3\xa9</msg>\n"), message(2, 12, "other", "x");
    const RunResult r = run_program({"trickle_echo", "--variety", "echo", "--one_pass"});
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_THAT(r.err, testing::HasSubstr("[HOST#11] message 1 of variety 'echo': <msg>hello 'quoted'"));
    EXPECT_EQ(text(Sql("SELECT CONCAT(hostid,'|',variety,'|',handled,'|',xml) FROM msg_to_host")),
              "11|echo|0|<trickle_down>\n<msg>hello 'quoted' \\ \xc3\xa9</msg>\n</trickle_down>\n");
    EXPECT_EQ(handled(), 1);
}

// As upstream's: the answer has no variety and no <trickle_down> around it.
TEST_F(Messages, MessageHandlerSendsEachBackAsItCame) {
    message(1, 11, "echo", "<msg>hello 'quoted' \\ \xc3\xa9</msg>\n"), message(2, 12, "", "x");
    const RunResult r = run_program({"message_handler", "--one_pass"});
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_THAT(r.err, testing::HasSubstr("[HOST#12] message 2 of variety '': x"));
    EXPECT_EQ(rows_of(db_, Sql("SELECT hostid, variety, handled, xml FROM msg_to_host ORDER BY id"), 4),
              (std::vector<std::vector<std::string>>{{"11", "", "0", "<msg>hello 'quoted' \\ \xc3\xa9</msg>\n"},
                                                     {"12", "", "0", "x"}}));
    EXPECT_EQ(handled(), 2);
}

TEST_F(Messages, CreditIsUpstreams) {
    const TrickleCredit rule{10000, {5e9, 1e10}};
    EXPECT_NEAR(rule.of(3600, 4e9), 33.333333, 1e-6);
    EXPECT_NEAR(rule.of(1e9, 5e9), 115.740741, 1e-6);
    EXPECT_NEAR(rule.of(3600, -1), 41.666667, 1e-6);
    EXPECT_NEAR(rule.of(3600, 0), 0, 1e-9);
    EXPECT_NEAR(rule.of(3600, 1e12), 83.333333, 1e-6);
    user(1, 3), host(3, 4e9, 30.75, 15, 1799740800);
    message(1, 3, "c", "<result_name>x_0</result_name>\n<time>1</time>\n<runtime>3600</runtime>\n");
    const HandleMessage handle = credit_handler(*store_, clock_, rule.max_runtime, [&] { return rule.speeds; });
    const HostMessage m = store_->unhandled("c", 0, 10).at(0);
    EXPECT_TRUE(handle(m));
    EXPECT_TRUE(handle(m)) << "the same message again";
    EXPECT_EQ(text(Sql("SELECT ROUND(total_credit,4) FROM host")), "64.0833");
    EXPECT_EQ(text(Sql("SELECT ROUND(total_credit,4) FROM user")), "38.3333");
    EXPECT_EQ(text(Sql("SELECT ROUND(total_credit,4) FROM team")), "40.3333");
    EXPECT_EQ(text(Sql("SELECT expavg_time FROM host")), "1800000000");
}

TEST_F(Messages, WrongOnesAreMarkedWithoutEffect) {
    user(1, 3), host(3, 4e9, 0, 50, 1799740800);
    message(1, 3, "c", "<runtime>-5</runtime>"), message(2, 3, "c", ""), message(3, 99, "c", "<runtime>5</runtime>");
    message(4, 3, "c", "<runtime>inf</runtime>");
    const RunResult r = run_program({"trickle_credit", "--variety", "c", "--max_runtime", "100", "--one_pass"});
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(handled(), 4);
    EXPECT_EQ(text(Sql("SELECT total_credit FROM host")), "0");
    EXPECT_EQ(run_program({"trickle_credit", "--variety", "c"}).status, 1);
}

TEST_F(Messages, CreditWaitsForTheUsualSpeed) {
    user(1, 3), host(3, 4e9, 0, 5, 1799740800);
    message(1, 3, "c", "<runtime>3600</runtime>");
    const auto handle = [&] {
        return run_program({"trickle_credit", "--variety", "c", "--max_runtime", "10000", "--one_pass"});
    };
    const RunResult r = handle();
    EXPECT_EQ(r.status, 0) << "a new project's daemon does not end";
    EXPECT_THAT(r.err, HasSubstr("the usual speed is not known yet, and messages wait"));
    EXPECT_EQ(handled(), 0);
    db_.execute(Sql("UPDATE host SET expavg_credit=50"));
    EXPECT_EQ(handle().status, 0);
    EXPECT_EQ(handled(), 1);
}

TEST_F(Messages, DeadlinesThatEndSoonAreMoved) {
    const auto result = [&](Id id, Id hostid, std::int64_t deadline, int state) {
        Sql sql(
            "INSERT INTO result (id, create_time, workunitid, server_state, outcome, client_state, hostid, userid, report_deadline, "
            "sent_time, received_time, name, cpu_time, batch, file_delete_state, validate_state, claimed_credit, granted_credit, "
            "opaque, random, app_version_num, appid, exit_status, teamid, priority) VALUES (");
        db_.execute(sql << id << ",1,1," << state << ",0,0," << hostid << ",1," << deadline << ",1,0,"
                        << SqlText{"r_" + std::to_string(id)} << ",0,0,0,0,0,0,0,0,0,1,0,0,0)");
    };
    result(1, 5, 1800100000, 4), result(2, 5, 1800200001, 4), result(3, 5, 1799999999, 4), result(4, 5, 1800000000, 4);
    result(5, 5, 1800050000, 5), result(6, 6, 1800050000, 4);
    const HandleMessage handle = deadline_handler(*store_, clock_, 86400, 200000);
    for (Id id = 1; id <= 6; ++id) {
        message(id, 5, "d", "<cpu_time>3</cpu_time>\n<result_name>r_" + std::to_string(id) + "</result_name>");
        handle(store_->unhandled("d", 0, 1).at(0));
    }
    message(7, 5, "d", "<result_name>r_1' OR '1'='1</result_name>");
    handle(store_->unhandled("d", 0, 1).at(0));
    EXPECT_EQ(handled(), 7);
    message(8, 5, "d", "<result_name>r_2</result_name>");
    EXPECT_TRUE(deadline_handler(*store_, clock_, 1'000'000'000'000, 1e12)(store_->unhandled("d", 0, 1).at(0)));
    EXPECT_EQ(text(Sql("SELECT report_deadline FROM result WHERE id=2")), "2147483647") << "the column holds no more";
    EXPECT_EQ(text(Sql("SELECT GROUP_CONCAT(id) FROM result WHERE report_deadline IN (1800186400, 1800086400)")), "1,4")
        << "not later ones, past ones, ones that are over, nor another host's";
}

TEST_F(Messages, AScriptHandlesWhatItCan) {
    project_.write("bin/take", "#!/bin/sh\nread line\n[ \"$line\" = bad ] && exit 3\necho \"$1 $4 $line\" >> " +
                                   (project_ / "taken").string() + "\n");
    fs::permissions(project_ / "bin/take", fs::perms::owner_all);
    message(1, 7, "s", "good\n"), message(2, 8, "s", "bad\n"), message(3, 9, "s", "$(touch x); good\n");
    const RunResult r = run_program({"trickle_script", "--variety", "s", "--script", "take", "--one_pass"});
    EXPECT_THAT(r.err, HasSubstr("ended with status 3; it is called again later"));
    EXPECT_EQ(read_file(project_ / "taken").value_or(""), "7 s good\n9 s $(touch x); good\n");
    EXPECT_EQ(handled(), 2);
    EXPECT_EQ(run_program({"trickle_script", "--script", "../x", "--one_pass"}).status, 1);
}

TEST_F(Messages, AHungScriptKeepsNoMessageWaiting) {
    project_.write("bin/take", "#!/bin/sh\nread line\n[ \"$line\" = bad ] && sleep 1000\nexit 0\n");
    fs::permissions(project_ / "bin/take", fs::perms::owner_all);
    message(1, 7, "s", "bad\n"), message(2, 8, "s", "good\n");
    const RunResult r =
        run_program({"trickle_script", "--variety", "s", "--script", "take", "--one_pass", "--time_limit", "0.2"});
    EXPECT_THAT(r.err, HasSubstr("message 1: " + (project_ / "bin/take").string() + " ran for 0.2 s (--time_limit)"));
    EXPECT_EQ(text(Sql("SELECT GROUP_CONCAT(id) FROM msg_from_host WHERE handled=1")), "2");
    EXPECT_EQ(run_program({"trickle_script", "--script", "take", "--one_pass", "--time_limit", "-1"}).status, 1);
}

TEST_F(Messages, AKillNeitherLosesNorDoublesCredit) {
    killed_at_each_statement(
        {std::string(SLUICE_BIN) + "/trickle_credit", "--variety", "c", "--max_runtime", "1e9", "--one_pass"},
        project_.path(),
        [&] {
            truncate_all_tables(db_);
            user(1, 3), host(3, 1e9, 0, 50, 1799740800);
            for (Id id = 1; id <= 3; ++id) message(id, 3, "c", "<runtime>86400</runtime>");
        },
        [&] {
            ASSERT_EQ(run_program({"trickle_credit", "--variety", "c", "--max_runtime", "1e9", "--one_pass"}).status,
                      0);
        },
        [&](const std::string& when) {
            EXPECT_EQ(text(Sql("SELECT ROUND(total_credit,3) FROM host")), "600.000") << when;
        });
}

TEST_F(Messages, FileRequestsAreUpstreams) {
    host(5, 1e9, 0, 0, 0);
    ASSERT_EQ(run_program({"delete_file", "--host_id", "5", "--file_name", "old.dat"}).status, 0);
    EXPECT_EQ(text(Sql("SELECT CONCAT(hostid,'|',variety,'|',handled,'|',xml) FROM msg_to_host")),
              "5|delete_file|0|<delete_file_info>old.dat</delete_file_info>\n");
    const FileRequest request{"r2.bin", {"http://127.0.0.1/a", "http://127.0.0.1/b"}, 1800003600, 5000000, "", 0};
    EXPECT_EQ(
        get_file_message(request, nullptr),
        "<app>\n    <name>file_xfer</name>\n</app>\n<app_version>\n    <app_name>file_xfer</app_name>\n"
        "    <version_num>0</version_num>\n</app_version>\n<file_info>\n    <name>r2.bin</name>\n"
        "    <max_nbytes>5000000</max_nbytes>\n    <url>http://127.0.0.1/a</url>\n    <url>http://127.0.0.1/b</url>\n"
        "</file_info>\n<workunit>\n    <name>upload_r2.bin</name>\n    <app_name>file_xfer</app_name>\n</workunit>\n"
        "<result>\n    <wu_name>upload_r2.bin</wu_name>\n    <name>upload_r2.bin</name>\n    <file_ref>\n"
        "        <file_name>r2.bin</file_name>\n    </file_ref>\n    <report_deadline>1800003600.000000</report_deadline>\n"
        "</result>\n");
    project_.write(fs::relative(fanout_path(project_ / "download", "local.dat", 1024), project_.path()), "hello\n");
    ASSERT_EQ(run_program({"put_file", "--host_id", "5", "--file_name", "local.dat"}).status, 0);
    const std::string put = text(Sql("SELECT xml FROM msg_to_host WHERE variety='file_xfer'"));
    EXPECT_THAT(
        put,
        HasSubstr(
            "    <md5_cksum>b1946ac92492d2347c6235b4d2611184</md5_cksum>\n    <nbytes>6</nbytes>\n    <sticky/>\n"));
    EXPECT_THAT(put, HasSubstr("<workunit>\n    <name>download_local.dat</name>\n"));
    for (const auto& words : std::vector<std::vector<std::string>>{
             {"delete_file", "--host_id", "5"},
             {"get_file", "--file_name", "x"},
             {"put_file", "--host_id", "5", "--file_name", "nofile"},
             {"put_file", "--host_id", "5", "--file_name", "x", "--url", "http://h/x"},
             {"get_file", "--host_id", "5", "--file_name", "x", "--max_latency", "1e300"},
             {"get_file", "--host_id", "5", "--file_name", "x", "--max_nbytes", "1e300"},
             {"delete_file", "--host_id", "99", "--file_name", "x"},
             {"delete_file", "--host_id", "5", "--file_name", "../x"}})
        EXPECT_EQ(run_program(words).status, 1) << words[0];
    EXPECT_EQ(number_of(db_, Sql("SELECT COUNT(*) FROM msg_to_host")), 2);
}

}  // namespace
}  // namespace sluice::test
