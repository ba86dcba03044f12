// SPDX-License-Identifier: LGPL-3.0-or-later
// create_work, the bitwise validator and the script assimilator as programs, on a real MariaDB: what stands in the
// database and on disk afterwards.
#include <gmock/gmock.h>

#include "sluice/db/work_store.h"
#include "tests/db/work/work_chain.h"

namespace sluice::test {
namespace {

TEST_F(WorkChain, CreateWorkWritesEveryColumn) {
    stage("f1", "hello\n");
    const auto r = run_program({"create_work", "-appname", "a", "--wu_name", "it's", "f1"});
    EXPECT_EQ(r.status, 1) << "a quote can't stand in a name that becomes file names";
    ASSERT_EQ(
        run_program({"create_work", "--appname", "a", "--wu_name", "w1", "--command_line", "--text 'it''s \\ \"ok\"'",
                     "--size_class", "2", "--priority", "-5", "--delay_bound", "3600.7", "--keywords", "3 4", "f1"})
            .status,
        0);
    EXPECT_EQ(
        rows_of(
            db_,
            Sql("SELECT name, appid, size_class, priority, delay_bound, keywords, result_template_file, need_validate, "
                "target_nresults, transitioner_flags, transition_time>1 FROM workunit"),
            11),
        (Table{{"w1", "1", "2", "-5", "3600", "3 4", "templates/a_out", "0", "1", "0", "1"}}));
    const auto xml = rows_of(db_, Sql("SELECT xml_doc FROM workunit"), 1)[0][0];
    EXPECT_NE(xml.find("--text 'it''s \\ \"ok\"'"), std::string::npos) << xml;
    EXPECT_NE(xml.find("<md5_cksum>b1946ac92492d2347c6235b4d2611184</md5_cksum>"), std::string::npos) << xml;
}

TEST_F(WorkChain, CreateWorkWarnsOfADeprecatedApp) {
    stage("f1");
    EXPECT_EQ(run_program({"create_work", "--appname", "a", "f1"}).err.find("deprecated"), std::string::npos);
    db_.execute(Sql("UPDATE app SET deprecated=1 WHERE name='a'"));
    const auto r = run_program({"create_work", "--appname", "a", "f1"});
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_NE(r.err.find("app a is deprecated: its jobs are stored, but not sent until"), std::string::npos) << r.err;
}

TEST_F(WorkChain, CreateWorkRefusesVersionsThatCannotBeSent) {
    stage("f1");
    db_.execute(
        Sql("INSERT IGNORE INTO platform (id, create_time, name, user_friendly_name, deprecated) VALUES "
            "(91,0,'p91','',0),(92,0,'p92','',1)"));
    db_.execute(Sql("DELETE FROM app_version"));
    const auto version = [&](int number, int platform, int deprecated) {
        db_.execute(Sql("INSERT INTO app_version (create_time, appid, version_num, platformid, xml_doc, "
                        "min_core_version, max_core_version, deprecated, plan_class) VALUES (0,1,")
                    << number << "," << platform << ",'',0,0," << deprecated << ",'')");
    };
    version(100, 91, 0), version(102, 91, 0), version(103, 92, 0), version(105, 91, 1);
    const auto pinned_to = [&](const std::string& number) {
        const RunResult r = run_program({"create_work", "--appname", "a", "--app_version_num", number, "f1"});
        EXPECT_EQ(r.status, r.err.empty() ? 0 : 1) << r.err;
        return r.err;
    };
    using testing::HasSubstr;
    EXPECT_EQ(pinned_to("102"), "");
    EXPECT_EQ(pinned_to("0"), "") << "any";
    EXPECT_EQ(count("1"), 2);
    EXPECT_THAT(pinned_to("7"), HasSubstr("app a has no version 7"));
    EXPECT_THAT(pinned_to("7"), HasSubstr("a version that can be sent (102)"));
    EXPECT_THAT(pinned_to("105"), HasSubstr("bin/app_settings a --app_version 105 deprecated=0"));
    EXPECT_THAT(pinned_to("103"), HasSubstr("platforms that are deprecated"));
    EXPECT_THAT(pinned_to("100"), HasSubstr("bin/app_settings a min_version=100 lets it be sent"));
    db_.execute(Sql("UPDATE app SET min_version=101"));
    EXPECT_THAT(pinned_to("100"), HasSubstr("below the app's min_version 101"));
    EXPECT_EQ(count("1"), 2) << "nothing was inserted";
    db_.execute(Sql("UPDATE app SET min_version=100"));
    EXPECT_EQ(pinned_to("100"), "");
    db_.execute(Sql("UPDATE app SET min_version=0, homogeneous_app_version=1"));
    EXPECT_EQ(pinned_to("100"), "") << "the feeder keeps all of such apps";
    EXPECT_EQ(pinned_to("105"), "");
}

// sched_explain asks for all that jobs of the array are pinned to.
TEST_F(WorkChain, PinnedJobsTakeTwoStatements) {
    db_.execute(
        Sql("INSERT INTO app (id, name, user_friendly_name, create_time) VALUES (71,'b','B',1), (72,'c','C',1)"));
    std::set<PinnedVersion> pins;
    for (const Id app : {1, 71, 72, 99})
        for (int number = 1; number <= 20; ++number) pins.emplace(app, number);
    const auto asked = [&](const std::set<PinnedVersion>& of) {
        const auto before = db_.statements();
        const auto lines = why_pinned_jobs_wait(db_, of);
        return std::pair(lines, db_.statements() - before);
    };
    const auto [lines, statements] = asked(pins);
    EXPECT_EQ(statements, 2U);
    ASSERT_EQ(lines.size(), 60U) << "nothing of an app that there is not";
    EXPECT_THAT(lines[0], testing::HasSubstr("app a has no version 1,"));
    EXPECT_THAT(lines[20], testing::HasSubstr("app b has no version 1,"));
    EXPECT_THAT(lines[59], testing::HasSubstr("app c has no version 20,"));
    EXPECT_EQ(asked({}).second, 0U);
}

TEST_F(WorkChain, CreateWorkNamesTheErrorAndInsertsNothing) {
    stage("f1");
    EXPECT_NE(run_program({"create_work", "--appname", "nosuch", "f1"}).err.find("no app named 'nosuch'"),
              std::string::npos);
    EXPECT_NE(run_program({"create_work", "--appname", "a", "f2"}).err.find("stage_file"), std::string::npos);
    EXPECT_NE(run_program({"create_work", "--appname", "a", "--size_class", "3", "f1"}).err.find("it has 3 (0 to 2)"),
              std::string::npos);
    EXPECT_EQ(run_program({"create_work", "--appname", "a", "--result_template", "templates/none", "f1"}).status, 1);
    EXPECT_EQ(run_program({"create_work", "f1"}).status, 1);
    ASSERT_EQ(run_program({"create_work", "--appname", "a", "--wu_name", "w", "f1"}).status, 0);
    const auto twice = run_program({"create_work", "--appname", "a", "--wu_name", "w", "f1"});
    EXPECT_EQ(twice.status, 1);
    EXPECT_NE(twice.err.find("w"), std::string::npos);
    EXPECT_EQ(count("1"), 1);
}

TEST_F(WorkChain, EachJobOfSizedAppHasClass) {
    stage("f1");
    const auto create = [&](const std::string& name, std::vector<std::string> more) {
        std::vector<std::string> args{"create_work", "--appname", "a", "--wu_name", name};
        args.insert(args.end(), more.begin(), more.end());
        args.push_back("f1");
        return run_program(args);
    };
    const auto class_of = [&](SqlLiteral name) {
        return number_of(db_, Sql("SELECT size_class FROM workunit WHERE name='") << name << "'");
    };
    ASSERT_EQ(create("unknown", {"--rsc_fpops_est", "1e15"}).status, 0);
    EXPECT_EQ(class_of("unknown"), 0) << "no job of any class is known: the smallest";
    db_.execute(Sql("DELETE FROM workunit"));
    ASSERT_EQ(create("small", {"--size_class", "0", "--rsc_fpops_est", "1e12"}).status, 0);
    ASSERT_EQ(create("large", {"--size_class", "2", "--rsc_fpops_est", "1e14"}).status, 0);
    ASSERT_EQ(create("by_size", {"--rsc_fpops_est", "3e13"}).status, 0);
    EXPECT_EQ(class_of("by_size"), 2);
    ASSERT_EQ(create("by_size_too", {"--rsc_fpops_est", "2e12"}).status, 0);
    EXPECT_EQ(class_of("by_size_too"), 0);
    db_.execute(Sql("UPDATE app SET n_size_classes=2"));
    ASSERT_EQ(create("large_too", {"--rsc_fpops_est", "1e14"}).status, 0);
    EXPECT_EQ(class_of("large_too"), 0) << "class 2 is gone, and of class 1 nothing is known";

    for (const char* classes : {"0", "1"}) {  // 1: it can be accelerated (seed 004)
        db_.execute(Sql("UPDATE app SET n_size_classes=") << SqlText{classes});
        const auto refused = create("nobody_releases_it", {"--size_class", "0"});
        EXPECT_EQ(refused.status, 1);
        EXPECT_NE(refused.err.find("app a has no size classes"), std::string::npos) << refused.err;
        EXPECT_EQ(run_program({"create_work", "--appname", "a", "--stdin"}, "--size_class 0 f1\n").status, 1);
        EXPECT_EQ(create(std::string("without_") + classes, {}).status, 0);
    }
    EXPECT_EQ(count("name LIKE 'nobody%'"), 0);
    EXPECT_EQ(count("name LIKE 'without_%' AND size_class=-1"), 2);
}

TEST_F(WorkChain, Md5FilesAreKeptIfConfigured) {
    stage("f1");
    const fs::path md5 = fanout_path(project_ / "download", "f1", 1024).string() + ".md5";
    std::string config = read_file(project_ / "config.xml").value();
    for (const bool kept : {true, false}) {  // <cache_md5_info>
        fs::remove(md5);
        ASSERT_EQ(run_program({"create_work", "--appname", "a", "--wu_name", kept ? "with" : "without", "f1"}).status,
                  0);
        EXPECT_EQ(fs::exists(md5), kept);
        const std::string on = "<cache_md5_info>1", off = "<cache_md5_info>0";
        if (kept) project_.write("config.xml", config.replace(config.find(on), on.size(), off));
    }
}

TEST_F(WorkChain, ABatchThatDoesNotExistIsSaid) {
    stage("f1");
    const auto r = run_program({"create_work", "--appname", "a", "--wu_name", "b", "--batch", "77", "f1"});
    EXPECT_EQ(r.status, 0) << "upstream's projects number jobs without a row, too";
    EXPECT_NE(r.err.find("there is no batch 77"), std::string::npos) << r.err;
    EXPECT_EQ(count("batch=77"), 1);
}

TEST_F(WorkChain, ABatchThatIsOverIsSaid) {
    stage("f1");
    db_.execute(
        Sql("INSERT INTO batch (id, user_id, create_time, logical_start_time, logical_end_time, est_completion_time, "
            "njobs, fraction_done, nerror_jobs, state, completion_time, credit_estimate, credit_canonical, "
            "credit_total, name, app_id, project_state, description, expire_time) VALUES "
            "(78,1,0,0,0,0,0,0,0,1,0,0,0,0,'b',1,0,'',0)"));
    for (const int state : {0, 1, 2, 3, 4}) {
        db_.execute(Sql("UPDATE batch SET state=") << state << " WHERE id=78");
        const auto r = run_program(
            {"create_work", "--appname", "a", "--wu_name", "b" + std::to_string(state), "--batch", "78", "f1"});
        EXPECT_EQ(r.status, 0) << "upstream takes them, too";
        EXPECT_EQ(r.err.find("batch 78 is over") != std::string::npos, state >= 2) << state << r.err;
    }
}

TEST_F(WorkChain, CreateWorkFromStdinInBulkAndTargets) {
    stage("f1");
    std::string lines;
    for (int i = 0; i < 2500; ++i)
        lines += "--wu_name bulk_" + std::to_string(i) + (i == 7 ? " --target_user 12" : "") + " f1\n";
    ASSERT_EQ(run_program({"create_work", "--appname", "a", "--stdin"}, lines).status, 0);
    EXPECT_EQ(count("1"), 2500);
    EXPECT_EQ(
        rows_of(
            db_,
            Sql("SELECT a.target_type, a.target_id, a.multi, w.name, w.transitioner_flags, w.transition_time FROM assignment a "
                "JOIN workunit w ON w.id=a.workunitid"),
            6),
        (Table{{"2", "12", "0", "bulk_7", "2", "2147483647"}}));
    const auto wrong = run_program({"create_work", "--appname", "a", "--stdin", "--continue_on_error"},
                                   "--wu_name x nofile\n--wu_name y f1\n");
    EXPECT_EQ(wrong.status, 0);
    EXPECT_NE(wrong.err.find("line 1"), std::string::npos);
    EXPECT_EQ(count("name='y'"), 1);
}

/// As in clusters, where each node counts in steps of their number.
TEST_F(WorkChain, AssignmentsNameTheirWorkunitsWithIdSteps) {
    stage("f1");
    std::string lines;
    for (const std::string name : {"zoe", "al", "mia", "bo"})
        lines += "--wu_name " + name + " --target_user 12 f1\n--wu_name not_" + name + " f1\n";
    db_.execute(Sql("SET GLOBAL auto_increment_increment=3"));
    const auto made = run_program({"create_work", "--appname", "a", "--stdin"}, lines + "--wu_name last f1\n");
    db_.execute(Sql("SET GLOBAL auto_increment_increment=1"));
    ASSERT_EQ(made.status, 0) << made.err;
    EXPECT_EQ(rows_of(db_,
                      Sql("SELECT w.name, a.target_id FROM assignment a LEFT JOIN workunit w ON w.id=a.workunitid "
                          "ORDER BY a.id"),
                      2),
              (Table{{"zoe", "12"}, {"al", "12"}, {"mia", "12"}, {"bo", "12"}}));
}

TEST_F(WorkChain, CreateWorkNamesATakenName) {
    stage("f1");
    ASSERT_EQ(run_program({"create_work", "--appname", "a", "--wu_name", "taken", "f1"}).status, 0);
    const auto again = run_program({"create_work", "--appname", "a", "--wu_name", "taken", "f1"});
    EXPECT_EQ(again.status, 1);
    EXPECT_EQ(again.err, "create_work: there is a workunit named 'taken' already\n");
    // All of a chunk or nothing …
    const std::string lines = "--wu_name one f1\n--wu_name taken f1\n--wu_name two f1\n";
    const auto whole = run_program({"create_work", "--appname", "a", "--stdin"}, lines);
    EXPECT_EQ(whole.status, 1);
    EXPECT_NE(whole.err.find("'taken'"), std::string::npos) << whole.err;
    EXPECT_EQ(count("1"), 1);
    // … unless it is to go on: the others are created, also those of later chunks.
    std::string many = lines;
    for (int i = 0; i < 1500; ++i) many += "--wu_name later_" + std::to_string(i) + " f1\n";
    const auto rest = run_program({"create_work", "--appname", "a", "--stdin", "--continue_on_error"}, many);
    EXPECT_EQ(rest.status, 0) << rest.err;
    EXPECT_EQ(count("1"), 1503);
    EXPECT_NE(rest.err.find("there is a workunit named 'taken' already"), std::string::npos) << rest.err;
    EXPECT_NE(rest.err.find("1502 jobs created, 1 lines wrong"), std::string::npos) << rest.err;
}

TEST_F(WorkChain, CreateWorksDefaultsMakeFeasibleJobs) {
    stage("f1");
    EXPECT_EQ(run_program({"create_work", "--appname", "a", "--wu_name", "q", "--min_quorum", "2", "f1"}).status, 0);
    EXPECT_EQ(count("name='q' AND min_quorum=2 AND target_nresults=2 AND max_total_results>=2"), 1);
    const auto large =
        run_program({"create_work", "--appname", "a", "--wu_name", "l", "--rsc_fpops_est", "1e15", "f1"});
    EXPECT_EQ(large.status, 0) << large.err;
    EXPECT_EQ(count("name='l' AND rsc_fpops_est=1e15 AND rsc_fpops_bound=8.64e13"), 1);
    EXPECT_NE(large.err.find("rsc_fpops_bound 8.64e+13 is below rsc_fpops_est 1e+15"), std::string::npos) << large.err;
}

TEST_F(WorkChain, CreateWorkSaysWhichOptionsTheTemplateOverrules) {
    stage("f1");
    project_.write(
        "templates/own_in",
        "<file_info/><workunit><file_ref><open_name>in</open_name></file_ref><rsc_fpops_est>4e12</rsc_fpops_est>"
        "<rsc_fpops_bound>1e12</rsc_fpops_bound><delay_bound>60</delay_bound></workunit>");
    const auto said = [&](std::vector<std::string> more, const std::string& in = "") {
        more.insert(more.begin(), {"create_work", "--appname", "a"});
        const RunResult r = run_program(more, in);
        EXPECT_EQ(r.status, 0) << r.err;
        return r.err;
    };
    const std::string line =
        "create_work: warning: --rsc_fpops_est 1e+13 is ignored: the input template templates/own_in sets 4e+12; change it "
        "there\n";
    const std::string once = said({"--wu_template", "templates/own_in", "--rsc_fpops_est", "1e13", "f1"});
    EXPECT_NE(once.find(line), std::string::npos) << once;
    EXPECT_NE(once.find("raise it in the input template templates/own_in\n"), std::string::npos) << once;
    EXPECT_EQ(once.find("--delay_bound"), std::string::npos) << "it was not given: " << once;
    const std::string many =
        said({"--wu_template", "templates/own_in", "--stdin"}, "--rsc_fpops_est 1e13 f1\n--rsc_fpops_est 1e13 f1\n");
    EXPECT_EQ(many.find(line), many.rfind(line)) << "said once: " << many;
    EXPECT_NE(many.find(line), std::string::npos) << many;
    EXPECT_EQ(said({"--rsc_fpops_est", "1e13", "f1"}).find("ignored"), std::string::npos);
    const std::string low = said({"--rsc_fpops_bound", "1e10", "f1"});
    EXPECT_NE(low.find("give a higher --rsc_fpops_bound, or a lower rsc_fpops_est\n"), std::string::npos) << low;
}

TEST_F(WorkChain, CreateWorkWarnsOfTemplatesUpstreamCannotSend) {
    stage("f1");
    const auto said = [&](const std::string& text) {
        project_.write("templates/a_out", text);
        const RunResult r = run_program({"create_work", "--appname", "a", "--stdin"}, "f1\nf1\n");
        EXPECT_EQ(r.status, 0) << r.err;
        return r.err;
    };
    const std::string warning =
        "create_work: warning: templates/a_out:4: something stands behind <result> on its line: BOINC's own scheduler can't "
        "send such jobs; begin a new line there\n";
    const std::string info = "<output_template>\n<file_info><name><OUTFILE_0/></name>\n</file_info>\n",
                      ref = "<file_ref><file_name><OUTFILE_0/></file_name><open_name>o</open_name></file_ref>";
    EXPECT_EQ(said(info + "<result>" + ref + "</result>\n</output_template>"), warning) << "once for two jobs";
    EXPECT_EQ(said(info + "<result> \n" + ref + "</result>\n</output_template>"), warning);
    EXPECT_EQ(said(info + "<result>\r\n" + ref + "</result>\n</output_template>"), warning);
    EXPECT_EQ(said(info + "    <result>\n" + ref + "</result>\n</output_template>"), "");
}

// Upstream's rows: a new one's average begins now, so its first job gives credit * ln 2 / 7; team 0 has a row, too.
TEST_F(WorkChain, CreditByAppIsKeptWhereConfigured) {
    std::string config = read_file(project_ / "config.xml").value_or("");
    make_workunit(1);
    returned(10, 1, 3, "same");
    ASSERT_EQ(run_program({"sample_bitwise_validator", "--app", "a", "--one_pass"}).status, 0);
    EXPECT_EQ(number_of(db_, Sql("SELECT COUNT(*) FROM credit_user")), 0);
    db_.execute(Sql("TRUNCATE workunit")), db_.execute(Sql("TRUNCATE result"));
    project_.write("config.xml", config.insert(config.find("</config>"), "<credit_by_app/>"));
    make_workunit(2);
    for (const Id host : {1, 2}) {
        returned(host + 10, 1, host, "same");
        db_.execute(Sql("INSERT INTO host (id, create_time, userid) VALUES (") << host << ",1," << host << ")");
    }
    db_.execute(
        Sql("INSERT INTO credit_user (userid, appid, njobs, total, expavg, expavg_time, credit_type) VALUES "
            "(1,1,3,100,7,0,0), (1,2,5,5,5,5,0)"));
    ASSERT_EQ(run_program({"sample_bitwise_validator", "--app", "a", "--one_pass"}).status, 0);
    const Table users = rows_of(
        db_,
        Sql("SELECT userid, appid, njobs, ROUND(total,4), ROUND(expavg,4) FROM credit_user ORDER BY userid, appid"), 5);
    ASSERT_EQ(users.size(), 3U);
    EXPECT_EQ(users[0][2], "4");
    EXPECT_EQ(users[0][3], "102.3148");
    EXPECT_EQ(users[1], (std::vector<std::string>{"1", "2", "5", "5.0000", "5.0000"}));
    EXPECT_EQ(users[2], (std::vector<std::string>{"2", "1", "1", "2.3148", "0.2292"}));
    EXPECT_EQ(rows_of(db_, Sql("SELECT teamid, appid, njobs, ROUND(total,4) FROM credit_team"), 4),
              (Table{{"0", "1", "2", "4.6296"}}));
}

TEST_F(WorkChain, WorkunitsOfOneGroupAddUp) {
    std::string config = read_file(project_ / "config.xml").value_or("");
    project_.write("config.xml", config.insert(config.find("</config>"), "<credit_by_app/>"));
    make_workunit(1);
    for (const char* name : {"w2", "w3"})
        ASSERT_EQ(run_program({"create_work", "--appname", "a", "--wu_name", name, "--min_quorum", "1",
                               "--target_nresults", "1", "--rsc_fpops_est", "1e12", "in1"})
                      .status,
                  0);
    returned(10, 1, 1, "x"), returned(11, 2, 2, "y"), returned(12, 3, 1, "z");
    db_.execute(Sql("UPDATE workunit SET need_validate=1, canonical_credit=2+id"));
    db_.execute(Sql("UPDATE result SET teamid=6"));
    db_.execute(Sql("INSERT INTO host (id, create_time, userid, total_credit) VALUES (1,1,1,100), (2,1,2,0)"));
    db_.execute(
        Sql("INSERT INTO user (id, create_time, email_addr, name, authenticator, total_credit) VALUES "
            "(1,1,'a','a','a',10), (2,1,'b','b','b',20)"));
    db_.execute(Sql("INSERT INTO team (id, create_time, userid, name, type, total_credit) VALUES (6,1,1,'t',1,1000)"));
    const auto r = run_program({"sample_bitwise_validator", "--app", "a", "--one_pass", "--credit_from_wu"});
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(number_of(db_, Sql("SELECT COUNT(*) FROM workunit WHERE canonical_resultid>0 AND need_validate=0")), 3);
    EXPECT_EQ(rows_of(db_, Sql("SELECT id, granted_credit FROM result ORDER BY id"), 2),
              (Table{{"10", "3"}, {"11", "4"}, {"12", "5"}}));
    EXPECT_EQ(rows_of(db_, Sql("SELECT id, total_credit, expavg_credit>0 FROM host ORDER BY id"), 3),
              (Table{{"1", "108", "1"}, {"2", "4", "1"}}));
    EXPECT_EQ(rows_of(db_, Sql("SELECT id, total_credit, expavg_credit>0 FROM user ORDER BY id"), 3),
              (Table{{"1", "18", "1"}, {"2", "24", "1"}}));
    EXPECT_EQ(rows_of(db_, Sql("SELECT total_credit, expavg_credit>0 FROM team"), 2), (Table{{"1012", "1"}}));
    EXPECT_EQ(rows_of(db_, Sql("SELECT userid, njobs, total FROM credit_user ORDER BY userid"), 3),
              (Table{{"1", "2", "8"}, {"2", "1", "4"}}));
    EXPECT_EQ(rows_of(db_, Sql("SELECT teamid, njobs, total FROM credit_team"), 3), (Table{{"6", "3", "12"}}));
    EXPECT_EQ(rows_of(db_, Sql("SELECT host_id, consecutive_valid FROM host_app_version ORDER BY host_id"), 2),
              (Table{{"1", "2"}, {"2", "1"}}));
}

TEST_F(WorkChain, AQuorumOfTwoIsCreditedOnce) {
    make_workunit(2);
    for (const Id host : {1, 2, 3})
        db_.execute(
            Sql("INSERT INTO host (id, create_time, userid, rpc_seqno, rpc_time, total_credit, expavg_credit, expavg_time, timezone, "
                "nsame_ip_addr, on_frac, connected_frac, active_frac, cpu_efficiency, duration_correction_factor, p_ncpus, p_fpops, "
                "p_iops, p_membw, m_nbytes, m_cache, m_swap, d_total, d_free, d_boinc_used_total, d_boinc_used_project, d_boinc_max, "
                "n_bwup, n_bwdown, credit_per_cpu_sec, venue, nresults_today, avg_turnaround, max_results_day, error_rate, product_name, "
                "gpu_active_frac, p_ngpus, p_gpu_fpops, misc) VALUES (")
            << host << ",0,0,0,0,0,0,0,0,0,1,1,1,1,1,1,1e9,1e9,1e9,1,1,1,1,1,1,1,1,1,1,0,'',0,0,0,0,'',1,0,0,'')");
    returned(10, 1, 1, "same");
    returned(11, 1, 2, "other");
    returned(12, 1, 3, "same");
    insert_result(13, 1, 0, 2, 0, "");
    insert_result(14, 1, 0, 1, 0, "");
    ASSERT_EQ(run_program({"sample_bitwise_validator", "--app", "a", "--one_pass"}).status, 0);
    EXPECT_EQ(results(), (Table{{"10", "5", "1", "1"},
                                {"11", "5", "1", "2"},
                                {"12", "5", "1", "1"},
                                {"13", "5", "5", "0"},
                                {"14", "5", "5", "0"}}));
    EXPECT_EQ(
        rows_of(
            db_,
            Sql("SELECT canonical_resultid, need_validate, assimilate_state, transition_time, error_mask FROM workunit"),
            5),
        (Table{{"10", "0", "1", "2147483647", "0"}}));
    // Version 7 has no row: the job's estimate is granted, 1e12 * 200 / 86400e9; and the hosts' statistics.
    EXPECT_EQ(rows_of(db_, Sql("SELECT id, ROUND(total_credit,6), avg_turnaround FROM host ORDER BY id"), 3),
              (Table{{"1", "2.314815", "4000"}, {"2", "0.000000", "0"}, {"3", "2.314815", "4000"}}));
    EXPECT_EQ(
        rows_of(
            db_,
            Sql("SELECT host_id, app_version_id, et_n, et_avg*1e12, consecutive_valid, max_jobs_per_day, turnaround_avg "
                "FROM host_app_version ORDER BY host_id"),
            7),
        (Table{{"1", "7", "1", "100", "1", "1", "4000"},
               {"2", "7", "0", "0", "0", "0", "0"},
               {"3", "7", "1", "100", "1", "1", "4000"}}));

    project_.write("bin/collect", "#!/bin/sh\necho \"$@\" >> " + (project_ / "calls").string() + "\n");
    fs::permissions(project_ / "bin/collect", fs::perms::owner_all);
    // A link that the web server's account planted in place of the output would have the script copy what it leads to.
    const fs::path output = fanout_path(project_ / "upload", "w_10_r1_0", 1024);
    fs::rename(output, project_ / "secret");
    fs::create_symlink(project_ / "secret", output);
    const RunResult planted =
        run_program({"script_assimilator", "--app", "a", "--one_pass", "--script", "collect wu_name files"});
    EXPECT_NE(planted.err.find("is a link or a pipe"), std::string::npos) << planted.err;
    EXPECT_FALSE(fs::exists(project_ / "calls"));
    fs::rename(project_ / "secret", output);
    for (int i = 0; i < 2; ++i)
        ASSERT_EQ(
            run_program({"script_assimilator", "--app", "a", "--one_pass", "--script", "collect wu_name files"}).status,
            0);
    EXPECT_EQ(read_file(project_ / "calls"),
              "w " + fanout_path(project_ / "upload", "w_10_r1_0", 1024).string() + "\n");
    EXPECT_EQ(rows_of(db_, Sql("SELECT assimilate_state, transition_time<2147483647 FROM workunit"), 2),
              (Table{{"2", "1"}}));
}

TEST_F(WorkChain, ReportThatComesWhileValidatingIsNotLost) {
    make_workunit(1);
    returned(10, 1, 1, "x");
    db_.execute(Sql("UPDATE workunit SET transition_time=5"));  // as the validator reads it …
    Database other(PrivateMariaDb::shared().settings("work"));
    // … a lock makes the validator wait for its own write; meanwhile a report asks for a transition at time 7.
    other.transaction([&] {
        other.execute(Sql("UPDATE workunit SET transition_time=7"));
        RunOptions options;
        options.env["BOINC_PROJECT_DIR"] = project_.path().string();
        Subprocess validator(
            {std::string(SLUICE_BIN) + "/sample_bitwise_validator", "--app", "a", "--one_pass", "-d", "4"}, options);
        ASSERT_TRUE(eventually(
            [&] {
                return number_of(db_, Sql("SELECT COUNT(*) FROM information_schema.processlist "
                                          "WHERE info LIKE 'SELECT canonical_resultid%'")) > 0;
            },
            10))
            << validator.err();
        pending_.emplace(std::move(validator));
    });
    const auto ended = pending_->wait();
    ASSERT_EQ(ended->status, 0) << ended->err;
    EXPECT_EQ(number_of(db_, Sql("SELECT transition_time FROM workunit")), 7);
    EXPECT_EQ(number_of(db_, Sql("SELECT canonical_resultid FROM workunit")), 10);
}

TEST_F(WorkChain, TwoValidatorsGrantCreditOnce) {
    make_workunit(1);
    returned(10, 1, 1, "x");
    const std::vector<std::string> args{std::string(SLUICE_BIN) + "/sample_bitwise_validator", "--app", "a",
                                        "--one_pass"};
    RunOptions options;
    options.env["BOINC_PROJECT_DIR"] = project_.path().string();
    Subprocess a(args, options), b(args, options);
    EXPECT_EQ(a.wait()->status, 0);
    EXPECT_EQ(b.wait()->status, 0);
    EXPECT_EQ(number_of(db_, Sql("SELECT et_n FROM host_app_version")), 1);
}

TEST_F(WorkChain, AMissingVersionRecordStaysMissing) {
    make_workunit(1);
    returned(10, 1, 1, "x");
    db_.execute(Sql("DELETE FROM host_app_version"));
    ASSERT_EQ(run_program({"sample_bitwise_validator", "--app", "a", "--one_pass"}).status, 0);
    EXPECT_GT(number_of(db_, Sql("SELECT granted_credit*1000 FROM result WHERE id=10")), 0);
    EXPECT_EQ(number_of(db_, Sql("SELECT COUNT(*) FROM host_app_version")), 0) << "a quota of 1 would stop the host";
}

// Upstream keeps its samples of app versions for the next idle pass, which never comes with --one_pass.
TEST_F(WorkChain, OnePassCountsForTheAppVersion) {
    make_workunit(1);
    returned(10, 1, 1, "x");
    db_.execute(
        Sql("INSERT INTO app_version (id, create_time, appid, version_num, platformid, xml_doc, min_core_version, "
            "max_core_version, deprecated, plan_class, pfc_n, pfc_avg, pfc_scale, expavg_credit, expavg_time, beta) "
            "VALUES (7,0,1,100,1,'',0,0,0,'',0,0,0,0,0,0)"));
    ASSERT_EQ(run_program({"sample_bitwise_validator", "--app", "a", "--one_pass"}).status, 0);
    EXPECT_EQ(rows_of(db_, Sql("SELECT pfc_n, expavg_credit>0 FROM app_version"), 2), (Table{{"1", "1"}}));
}

TEST_F(WorkChain, DebugCreditTellsWhatIsClaimed) {
    make_workunit(1);
    returned(10, 1, 1, "x");
    const auto log = [&] { return run_program({"sample_bitwise_validator", "--app", "a", "--one_pass"}).err; };
    EXPECT_EQ(log().find("[credit]"), std::string::npos);
    db_.execute(Sql("UPDATE workunit SET need_validate=1, canonical_resultid=0"));
    db_.execute(Sql("UPDATE result SET validate_state=0"));
    std::string config = read_file(project_ / "config.xml").value();
    config.insert(config.find("<db_name>"), "<debug_credit>1</debug_credit>");
    project_.write("config.xml", config);
    EXPECT_NE(log().find("[credit] [RESULT#10] raw credit: 0.46 (100.00 sec, 2.00 est GFLOPS)"), std::string::npos);
}

TEST_F(WorkChain, CreditOfWorkunitIsWhereUpstreamKeepsIt) {
    stage("in1");
    ASSERT_EQ(run_program({"create_work", "--appname", "a", "--wu_template", "templates/a_in", "--result_template",
                           "templates/a_out", "--credit", "12.5", "in1"})
                  .status,
              0);
    EXPECT_EQ(number_of(db_, Sql("SELECT canonical_credit*10 FROM workunit")), 125);
    returned(10, 1, 1, "x");
    db_.execute(Sql("UPDATE workunit SET need_validate=1, min_quorum=1"));
    ASSERT_EQ(run_program({"sample_bitwise_validator", "--app", "a", "--one_pass", "--credit_from_wu"}).status, 0);
    EXPECT_EQ(number_of(db_, Sql("SELECT granted_credit*10 FROM result WHERE id=10")), 125);
    EXPECT_EQ(number_of(db_, Sql("SELECT consecutive_valid FROM host_app_version")), 1)
        << "an unreplicated project trusts too";
}

TEST_F(WorkChain, AFailingScriptIsRetriedAndStopsNobody) {
    make_workunit(1);
    returned(10, 1, 1, "x");
    stage("g");
    ASSERT_EQ(run_program({"create_work", "--appname", "a", "--wu_name", "z", "g"}).status, 0);
    db_.execute(Sql("UPDATE workunit SET need_validate=0, error_mask=2, assimilate_state=1 WHERE name='z'"));
    ASSERT_EQ(run_program({"sample_bitwise_validator", "--app", "a", "--one_pass"}).status, 0);
    project_.write("bin/s", "#!/bin/sh\necho \"$*\" >> " + (project_ / "calls").string() + "\ntest \"$1\" = --error\n");
    fs::permissions(project_ / "bin/s", fs::perms::owner_all);
    const auto r = run_program({"script_assimilator", "--app", "a", "--one_pass", "--script", "s wu_name"});
    EXPECT_EQ(read_file(project_ / "calls"), "w\n--error 2 z 2 0\n");
    EXPECT_NE(r.err.find("s returned 1"), std::string::npos) << r.err;
    EXPECT_EQ(rows_of(db_, Sql("SELECT name, assimilate_state FROM workunit ORDER BY id"), 2),
              (Table{{"w", "1"}, {"z", "2"}}));
    const auto missing = run_program({"script_assimilator", "--app", "a", "--one_pass", "--script", "absent wu_name"});
    EXPECT_NE(missing.err.find("absent returned 127 (is " + (project_ / "bin/absent").string() + " there"),
              std::string::npos)
        << missing.err;
}

TEST_F(WorkChain, EachWorkunitsScriptIsCalledOnce) {
    stage("g");
    for (int i = 0; i < 7; ++i) ASSERT_EQ(run_program({"create_work", "--appname", "a", "g"}).status, 0);
    db_.execute(Sql("UPDATE workunit SET error_mask=2, assimilate_state=1"));
    project_.write("bin/s", "#!/bin/sh\necho \"$4\" >> " + (project_ / "calls").string() + "\n");
    fs::permissions(project_ / "bin/s", fs::perms::owner_all);
    const auto r = run_program({"script_assimilator", "--app", "a", "--one_pass", "--script", "s wu_name"});
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(count("assimilate_state=2 AND error_mask=2 AND transition_time<2147483647"), 7);
    EXPECT_EQ(read_file(project_ / "calls"), "1\n2\n3\n4\n5\n6\n7\n");
}

// A cron task must not write during maintenance.
TEST_F(WorkChain, StopDaemonsHoldsValidatorAndAssimilator) {
    make_workunit(1);
    returned(10, 1, 1, "x");
    stage("g");
    ASSERT_EQ(run_program({"create_work", "--appname", "a", "--wu_name", "z", "g"}).status, 0);
    db_.execute(Sql("UPDATE workunit SET need_validate=0, error_mask=2, assimilate_state=1 WHERE name='z'"));
    project_.write("bin/s", "#!/bin/sh\nexit 0\n");
    fs::permissions(project_ / "bin/s", fs::perms::owner_all);
    project_.write("stop_daemons", "");
    const std::vector<std::string> validator{"sample_bitwise_validator", "--app", "a", "--one_pass"},
        assimilator{"script_assimilator", "--app", "a", "--one_pass", "--script", "s wu_name"};
    EXPECT_EQ(run_program(validator).status, 0);
    EXPECT_EQ(run_program(assimilator).status, 0);
    EXPECT_EQ(count("need_validate=1"), 1);
    EXPECT_EQ(count("assimilate_state=1"), 1);
    fs::remove(project_ / "stop_daemons");
    EXPECT_EQ(run_program(validator).status, 0);
    EXPECT_EQ(run_program(assimilator).status, 0);
    EXPECT_EQ(count("need_validate=0 AND assimilate_state=2"), 2);
}

TEST_F(WorkChain, ValidatorOptionsAreChecked) {
    EXPECT_EQ(run_program({"sample_bitwise_validator"}).status, 1);
    EXPECT_EQ(run_program({"sample_bitwise_validator", "--app", "nosuch", "--one_pass"}).status, 1);
    EXPECT_EQ(run_program({"sample_bitwise_validator", "--nonsense"}).status, 1);
    EXPECT_EQ(run_program({"script_assimilator", "--app", "a"}).status, 1);
    EXPECT_EQ(run_program({"script_assimilator", "--help"}).status, 0);
}

}  // namespace
}  // namespace sluice::test
