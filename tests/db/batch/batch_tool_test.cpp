// SPDX-License-Identifier: LGPL-3.0-or-later
// sluice_batch: a batch from its making to its retirement, what goes wrong on the way, and a submission that is killed.
#include <sys/stat.h>

#include <fstream>

#include "sluice/json/input.h"
#include "tests/db/batch/batch_fixture.h"
#include "tests/db/batch/killed_program.h"
#include "tests/support/paths.h"
#include "tests/support/peak_memory.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;

const std::string kUnsigned = "<dont_generate_upload_certificates>1</dont_generate_upload_certificates>";

class BatchTool : public BatchFixture {
  protected:
    BatchTool() {
        project.write("templates/app1_in", "<workunit></workunit>");
        project.write("templates/app1_out", "<result>\n</result>");
        for (const Id id : {Id{1}, Id{2}}) {
            User& u = world.users[id];
            u.id = id;
            u.name = id == 1 ? "Ada" : "Bob";
            u.authenticator = "key" + std::to_string(id);
            u.email_addr = u.authenticator + "@example.org";
        }
    }
    std::string jobs_file(int n, const std::string& name = "jobs", const std::string& more = "") {
        std::string text;
        for (int i = 1; i <= n; ++i) text += "--command_line 'tile " + std::to_string(i) + "' --rsc_fpops_est 1e12\n";
        project.write(name, text + more);
        return (project / name).string();
    }
    Id create() {
        return std::stoll(run_ok({"sluice_batch", "create", "--user", "1", "--app", "app1", "--name", "tiles"}));
    }
    std::string fails(const std::vector<std::string>& words) {
        std::vector<std::string> command{"sluice_batch"};
        command.insert(command.end(), words.begin(), words.end());
        const RunResult r = run_program(command);
        EXPECT_EQ(r.status, 1) << words[0] << ": " << r.out;
        EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
        return r.err;
    }
    /// Of what is due by now: a transitioner looks at whole seconds that have passed.
    void transition() {
        db.execute(Sql("UPDATE workunit SET transition_time=transition_time-5 WHERE transition_time BETWEEN 5 AND ")
                   << now + 1000);
        run_ok({"transitioner", "--one_pass"});
    }
    std::string state(Id id) { return rows(Sql("SELECT state FROM batch WHERE id=") << id, 1).at(0).at(0); }
    std::int64_t jobs() { return number(Sql("SELECT COUNT(*) FROM workunit")); }
};

// The batch was accepted, and nothing said that no program would look after it.
TEST_F(BatchTool, SubmitNamesTheDaemonsThatAreMissing) {
    store();
    const auto submitted = [&] {
        const RunResult r = run_program({"sluice_batch", "submit", std::to_string(create()), jobs_file(2)});
        EXPECT_EQ(r.status, 0) << r.err;
        return r.err;
    };
    EXPECT_EQ(submitted(), "") << "no rule is on";
    config("<plan_batches>1</plan_batches>");
    EXPECT_THAT(
        submitted(),
        testing::AllOf(HasSubstr("sluice_batch: warning: "), HasSubstr("but batch_upkeep is not among"),
                       HasSubstr("but batch_planner is not among"), HasSubstr("<daemon><cmd>batches</cmd></daemon>")));
    config("<plan_batches>1</plan_batches></config><daemons><daemon><cmd>batches</cmd></daemon></daemons><config>");
    EXPECT_EQ(submitted(), "");
}

// An account without CREATE could submit until then.
TEST_F(BatchTool, SubmitMakesNoPlannerTables) {
    store();
    config("<plan_batches>1</plan_batches>");
    db.execute(Sql("DROP TABLE IF EXISTS sluice_plan, sluice_plan_submission"));
    run_ok({"sluice_batch", "submit", std::to_string(create()), jobs_file(2)});
    EXPECT_EQ(
        number(Sql("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema=DATABASE() AND table_name IN "
                   "('sluice_plan','sluice_plan_submission')")),
        0);
}

// Of a thousand jobs that take long to be prepared nothing was said until all of them were.
TEST_F(BatchTool, ASubmissionIsNotedWhileItIsPrepared) {
    store();
    config("<plan_batches>1</plan_batches>");
    db.execute(Sql("DROP TABLE IF EXISTS sluice_plan_submission"));
    db.execute(
        Sql("CREATE TABLE sluice_plan_submission (batch_id bigint NOT NULL PRIMARY KEY, heard_at double NOT NULL)"));
    const Id id = create();
    const std::string path = (project / "slow").string();
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    ASSERT_EQ(chmod(path.c_str(), 0666), 0) << "whoever runs it";
    Subprocess submit = start_program({"sluice_batch", "submit", std::to_string(id), path});
    {
        std::fstream jobs(path, std::ios::in | std::ios::out);  // does not wait for who reads it
        jobs << "--rsc_fpops_est 1e12" << std::endl;
        EXPECT_TRUE(eventually([&] { return number(Sql("SELECT COUNT(*) FROM sluice_plan_submission")) == 1; }));
        EXPECT_EQ(this->jobs(), 0) << "it goes on";
    }
    EXPECT_TRUE(eventually([&] { return state(id) == "1"; }));
    db.execute(Sql("DROP TABLE sluice_plan_submission"));
}

TEST_F(BatchTool, ABatchFromItsMakingToItsRetirement) {
    store();
    const Id id = create();
    EXPECT_EQ(rows(Sql("SELECT user_id, app_id, state, njobs, name, create_time>0 FROM batch"), 6),
              (Table{{"1", "1", "0", "0", "tiles", "1"}}));
    EXPECT_EQ(run_ok({"sluice_batch", "submit", std::to_string(id), jobs_file(3)}),
              "batch 1: 3 jobs submitted; it is in progress\n");
    EXPECT_EQ(rows(Sql("SELECT batch, appid, rsc_fpops_est, priority, name LIKE 'batch\\_1\\_%' FROM workunit"), 5),
              (Table(3, {"1", "1", "1000000000000", "0", "1"})));
    EXPECT_EQ(rows(Sql("SELECT state, njobs FROM batch"), 2), (Table{{"1", "3"}}));

    // Two are done, by three instances: one of them failed after an hour, and of two valid ones one was enough.
    db.execute(Sql("UPDATE workunit SET canonical_resultid=id, canonical_credit=2 WHERE id<3"));
    const auto ended = [&](Id result, Id wu, int outcome, int validated, double seconds) {
        Result& r = instance(world.workunits[wu], ServerState::kOver, 5);
        r.id = result;
        r.workunitid = wu;
        r.batch = id;
        r.name = "r" + std::to_string(result);
        r.outcome = static_cast<Outcome>(outcome);
        r.validate_state = static_cast<ValidateState>(validated);
        r.sent_time = now - 9000;
        r.cpu_time = seconds;
        FakeDb one;
        one.results[result] = r;
        store_rows(db, one);
    };
    ended(11, 1, 3, 0, 3600), ended(12, 1, 1, 1, 7200), ended(13, 2, 1, 1, 7200), ended(14, 2, 1, 1, 7200);
    const json::Object shown = json::parse(run_ok({"sluice_batch", "show", "1", "--json"}), "show");
    EXPECT_EQ(shown.number("jobs"), 3);
    EXPECT_EQ(shown.number("done"), 2);
    EXPECT_EQ(shown.number("instances_per_workunit"), 2);
    EXPECT_EQ(shown.number("core_hours"), 7);
    EXPECT_EQ(shown.number("wasted_core_hours"), 1 + 2);
    EXPECT_THAT(run_ok({"sluice_batch", "list"}), HasSubstr("tiles  Ada (1)  app1  in progress     3  66.7 %       0"));

    EXPECT_THAT(fails({"retire", "1"}), HasSubstr("batch 1: it is in progress: only a complete or aborted batch"));
    db.execute(Sql("UPDATE workunit SET canonical_resultid=3 WHERE id=3"));
    run_ok({"batch_upkeep", "--one_pass"});
    EXPECT_THAT(fails({"abort", "1"}), HasSubstr("batch 1: it is complete: there is nothing to abort"));
    project.write("results/1/out", "x");
    project.write("results/2/out", "x");
    run_ok({"sluice_batch", "retire", "1"});
    EXPECT_EQ(state(1), "4");
    EXPECT_FALSE(std::filesystem::exists(project / "results/1"));
    EXPECT_TRUE(std::filesystem::exists(project / "results/2"));
    run_ok({"sluice_batch", "retire", "1"});  // nothing more to do
    EXPECT_THAT(run_ok({"sluice_batch", "list"}), HasSubstr("no batches"));
    EXPECT_THAT(run_ok({"sluice_batch", "list", "--all"}), HasSubstr("retired"));
}

TEST_F(BatchTool, APackedBatchIsOneArchive) {
    store();
    const Id id = create();
    EXPECT_THAT(fails({"pack", "1"}), HasSubstr("batch 1: there is no folder"));
    EXPECT_THAT(fails({"pack", "7"}), HasSubstr("there is no such batch"));
    const std::string longer(200, 'n'), big(300000, 'x');
    for (const auto& [name, text] : {std::pair<std::string, std::string>{"w1__file_out", "one"},
                                     {"w2_error", "0x2\n"},
                                     {"by script/" + longer, big},
                                     {"empty", ""}})
        project.write("results/1/" + name, text);
    std::filesystem::create_symlink("/etc/passwd", project / "results/1/link");
    const RunResult r = run_program({"sluice_batch", "pack", std::to_string(id)});
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_THAT(r.out, testing::MatchesRegex("batch 1: 4 files, 0.3 MB, are in .*/results/1.tar.gz \\(0.0 MB\\); it is "
                                             "new: pack it again at its end\n"));
    EXPECT_THAT(r.err, HasSubstr("1 links or devices"));
    const std::string archive = (project / "results/1.tar.gz").string();
    const auto unpacked = [&](const std::string& name) { return run({"tar", "-xOzf", archive, "1/" + name}).out; };
    EXPECT_EQ(run({"tar", "-tzf", archive}).out, "1/by script/" + longer + "\n1/empty\n1/w1__file_out\n1/w2_error\n");
    EXPECT_EQ(unpacked("w1__file_out"), "one");
    EXPECT_EQ(unpacked("by script/" + longer), big);
    EXPECT_EQ(unpacked("w2_error"), "0x2\n");

    // What can't be read leaves the older archive as it is.
    project.write("results/1/w3__file_out", "three");
    ASSERT_EQ(chmod((project / "results/1/w3__file_out").c_str(), geteuid() == 0 ? 0644 : 0), 0);
    if (geteuid() != 0) {
        EXPECT_THAT(fails({"pack", "1"}), HasSubstr("can't read"));
        EXPECT_EQ(unpacked("w3__file_out"), "");
        ASSERT_EQ(chmod((project / "results/1/w3__file_out").c_str(), 0644), 0);
    }
    std::filesystem::remove(project / "results/1/link");
    const json::Object again =
        json::parse(run_ok({"sluice_batch", "pack", "1", "--json", "--archive", archive + "2"}), "pack");
    EXPECT_EQ(again.number("files"), 5);
    EXPECT_EQ(again.number("archive_bytes"), static_cast<double>(std::filesystem::file_size(archive + "2")));
    EXPECT_FALSE(std::filesystem::exists(archive + ".new"));
    EXPECT_THAT(fails({"pack", "1", "--archive", "/nowhere/x"}), HasSubstr("can't write to /nowhere"));
}

TEST_F(BatchTool, PurgedJobsOfBatchThatIsOverCount) {
    Batch& over = batch(1);
    over.user_id = 1, over.state = BatchState::kComplete, over.njobs = 3, over.nerror_jobs = 1, over.fraction_done = 1;
    success(1, 7, 100);  // the two others are purged
    store();
    const json::Object shown = json::parse(run_ok({"sluice_batch", "show", "1", "--json"}), "show");
    EXPECT_EQ(shown.number("jobs"), 3);
    EXPECT_EQ(shown.number("done"), 3);
}

TEST_F(BatchTool, AbortCancelsAsUpstreamDoes) {
    batch(1).user_id = 1;
    batch(2);
    success(1, 7, 100);
    unsent(1);
    Workunit& two = job(1);
    instance(two, ServerState::kInactive);
    instance(two, ServerState::kInProgress, 9);
    job(1).error_mask = 2;
    unsent(2);
    store();
    run_ok({"sluice_batch", "abort", "1"});
    // A job that is done stays done: upstream's counts it as a success either way.
    EXPECT_EQ(rows(Sql("SELECT id, error_mask, transition_time BETWEEN 1 AND 2000000000 FROM workunit ORDER BY id"), 3),
              (Table{{"1", "0", "0"}, {"2", "16", "1"}, {"3", "16", "1"}, {"4", "18", "1"}, {"5", "0", "0"}}));
    EXPECT_EQ(rows(Sql("SELECT id, server_state, outcome FROM result ORDER BY id"), 3),
              (Table{{"1", "5", "1"}, {"2", "5", "5"}, {"3", "5", "5"}, {"4", "4", "0"}, {"5", "2", "0"}}));
    EXPECT_EQ(rows(Sql("SELECT state, completion_time>0 FROM batch ORDER BY id"), 2), (Table{{"3", "1"}, {"1", "0"}}));
    run_ok({"sluice_batch", "abort", "1"});  // as after a kill
    EXPECT_EQ(state(2), "1");
}

TEST_F(BatchTool, JobsThatNobodyAssimilatesAreFinished) {
    config(kUnsigned + "</config><daemons><daemon><cmd>script_assimilator --app app2</cmd></daemon></daemons><config>");
    const auto states = [&](Id batch) {
        transition();
        return rows(Sql("SELECT error_mask, assimilate_state, file_delete_state FROM workunit WHERE batch=")
                        << batch << " ORDER BY id",
                    3);
    };
    batch(1), batch(2, 1, BatchState::kComplete);
    success(1, 7, 100);
    world.workunits.last().second.assimilate_state = AssimilateState::kReady;
    unsent(1);
    world.workunits.last().second.max_total_results = 1;
    in_progress(1, 8, 10);
    success(2, 7, 100);
    world.workunits.last().second.assimilate_state = AssimilateState::kReady;
    instance(world.workunits.last().second, ServerState::kInProgress, 9).report_deadline = now + 5000;
    job(2).error_mask = kWuTooManyErrors;
    Workunit& failed = job(2);
    failed.error_mask = kWuTooManyErrors;
    failed.assimilate_state = AssimilateState::kReady;
    store();
    run_ok({"sluice_batch", "abort", "1"});
    // What is done can be fetched; the files of what runs stay.
    EXPECT_EQ(states(1), (Table{{"0", "1", "0"}, {"16", "2", "1"}, {"16", "2", "0"}}));
    db.execute(Sql("UPDATE result SET server_state=5, outcome=6 WHERE server_state=4 AND batch=1"));
    db.execute(Sql("UPDATE workunit SET transition_time=1 WHERE batch=1"));
    EXPECT_EQ(states(1)[2], (std::vector<std::string>{"16", "2", "1"}));
    run_ok({"sluice_batch", "retire", "1"});
    EXPECT_EQ(states(1)[0], (std::vector<std::string>{"0", "2", "1"}));

    run_ok({"sluice_batch", "retire", "2"});
    EXPECT_EQ(states(2), (Table{{"0", "2", "0"}, {"2", "2", "1"}, {"2", "2", "1"}}));
    // The last instance is back, and is still to be validated: the file that it is compared with stays until then.
    db.execute(Sql("UPDATE result SET server_state=5, outcome=1, validate_state=0 WHERE server_state=4"));
    db.execute(Sql("UPDATE workunit SET transition_time=1 WHERE batch=2"));
    EXPECT_EQ(states(2)[0], (std::vector<std::string>{"0", "2", "0"}));
    EXPECT_EQ(number(Sql("SELECT need_validate FROM workunit WHERE batch=2 AND canonical_resultid<>0")), 1);
    db.execute(Sql("UPDATE result SET validate_state=1 WHERE validate_state=0 AND outcome=1"));
    db.execute(Sql("UPDATE workunit SET transition_time=1 WHERE batch=2"));
    EXPECT_EQ(states(2)[0], (std::vector<std::string>{"0", "2", "1"}));
}

TEST_F(BatchTool, JobsOfAnAssimilatorAreLeftToIt) {
    config(kUnsigned +
           "</config><daemons><daemon><cmd>sample_assimilator --app app1</cmd><disabled>1</disabled></daemon></daemons>"
           "<config>");
    batch(1), batch(2, 1, BatchState::kComplete);
    unsent(1);
    success(2, 7, 100);
    world.workunits.last().second.assimilate_state = AssimilateState::kReady;
    store();
    const std::string off = "the assimilator of app app1 is disabled in config.xml: jobs of the batch wait for it";
    EXPECT_THAT(run_program({"sluice_batch", "abort", "1"}).err, HasSubstr("sluice_batch: warning: batch 1: " + off));
    EXPECT_THAT(run_program({"sluice_batch", "retire", "1"}).err, HasSubstr("sluice_batch: warning: batch 1: " + off));
    run_ok({"sluice_batch", "retire", "2"});
    transition();
    EXPECT_EQ(rows(Sql("SELECT assimilate_state, file_delete_state FROM workunit ORDER BY id"), 2),
              (Table{{"1", "0"}, {"1", "0"}}));
    // Without it, what older versions left behind is finished by another retirement.
    config(kUnsigned);
    run_ok({"sluice_batch", "retire", "1"});
    run_ok({"sluice_batch", "retire", "2"});
    transition();
    EXPECT_EQ(rows(Sql("SELECT assimilate_state, file_delete_state FROM workunit ORDER BY id"), 2),
              (Table{{"2", "1"}, {"2", "1"}}));
}

TEST_F(BatchTool, WrongCommandsNameBatchAndWhatToDo) {
    batch(4, 1, BatchState::kInit).user_id = 1;
    batch(5, 9, BatchState::kInit);
    store();
    EXPECT_THAT(fails({"show", "77"}), HasSubstr("batch 77: there is no such batch: sluice_batch list"));
    EXPECT_THAT(fails({"abort", "77"}), HasSubstr("batch 77: there is no such batch"));
    EXPECT_THAT(fails({"show", "x7"}), HasSubstr("'x7' is not the number of a batch"));
    EXPECT_THAT(fails({"show"}), HasSubstr("show needs the number of a batch"));
    EXPECT_THAT(fails({"vanish", "4"}), HasSubstr("there is no command 'vanish': use create, submit"));
    EXPECT_THAT(fails({"show", "4", "5"}), HasSubstr("'5' is one word too many"));
    EXPECT_THAT(fails({"create", "--user", "99", "--app", "app1"}), HasSubstr("there is no user 99"));
    EXPECT_THAT(fails({"create", "--user", "1", "--app", "none"}), HasSubstr("there is no app named 'none'"));
    EXPECT_THAT(fails({"submit", "4"}), HasSubstr("batch 4: submit needs the file of its jobs"));
    EXPECT_THAT(fails({"submit", "4", "/nowhere"}), HasSubstr("batch 4: /nowhere can't be read"));
    EXPECT_THAT(fails({"submit", "4", "/no\nwhere"}), HasSubstr("batch 4: /no where can't be read"));
    EXPECT_THAT(fails({"submit", "5", jobs_file(1)}), HasSubstr("batch 5: its app 9 is not there any more"));
    project.write("empty", "\n  \n");
    EXPECT_THAT(fails({"submit", "4", (project / "empty").string()}), HasSubstr("has no jobs"));
    EXPECT_EQ(state(4), "0") << "a batch of no jobs stays new";
    EXPECT_THAT(fails({"submit", "4", jobs_file(2, "wrong", "--rsc_fpops_est nan\n")}),
                HasSubstr("batch 4, line 3: rsc_fpops_est"));
    EXPECT_THAT(fails({"submit", "4", jobs_file(0, "long", std::string(70000, 'x'))}),
                HasSubstr("batch 4, line 1: it is longer than 65536 bytes"));
    EXPECT_EQ(jobs(), 0);
}

TEST_F(BatchTool, AListThatIsNotWholeSaysSo) {
    store();
    run_ok({"sluice_batch", "create", "--user", "1", "--app", "app1"});
    const auto more = [&](const SqlLiteral& numbers) {
        Sql sql(
            "INSERT INTO batch SELECT seq, user_id, create_time, logical_start_time, logical_end_time, "
            "est_completion_time, njobs, fraction_done, nerror_jobs, state, completion_time, credit_estimate, "
            "credit_canonical, credit_total, name, app_id, project_state, description, expire_time FROM batch, ");
        db.execute(sql << numbers << " WHERE id=1");
    };
    more(SqlLiteral("seq_2_to_1000"));
    RunResult listed = run_program({"sluice_batch", "list", "--json"});
    EXPECT_EQ(listed.err, "");
    EXPECT_EQ(json::parse("{\"all\": " + listed.out + "}", "list").objects("all").size(), 1000u);
    more(SqlLiteral("seq_1001_to_1001"));
    listed = run_program({"sluice_batch", "list", "--json"});
    EXPECT_THAT(listed.err, HasSubstr("only the newest 1000 are shown"));
    EXPECT_EQ(json::parse("{\"all\": " + listed.out + "}", "list").objects("all").size(), 1000u);
}

TEST_F(BatchTool, SubmittingAgainContinuesAndRefusesAnotherFile) {
    store();
    create();
    // Line 1002 is wrong: the thousand before it are in.
    EXPECT_THAT(fails({"submit", "1", jobs_file(1001, "jobs", "--no_such 1\n")}), HasSubstr("the 1000 jobs before it"));
    EXPECT_EQ(jobs(), 1000);
    EXPECT_EQ(state(1), "0");
    project.write("other", "--command_line other\n");
    EXPECT_THAT(fails({"submit", "1", (project / "other").string()}),
                HasSubstr("the 1000 jobs that it has are not the first ones of this file"));
    EXPECT_EQ(jobs(), 1000);
    EXPECT_EQ(run_ok({"sluice_batch", "submit", "1", jobs_file(1002)}),
              "batch 1: 2 jobs submitted, 1000 were there already; it is in progress\n");
    EXPECT_EQ(run_ok({"sluice_batch", "submit", "1", jobs_file(1002)}),
              "batch 1: 0 jobs submitted, 1002 were there already; it is in progress\n");
    EXPECT_THAT(fails({"submit", "1", jobs_file(1003)}),
                HasSubstr("batch 1: it is in progress and takes no more jobs"));
    EXPECT_EQ(jobs(), 1002);
    EXPECT_EQ(number(Sql("SELECT njobs FROM batch")), 1002);
}

TEST_F(BatchTool, NamesThatAreTakenAreRefused) {
    store();
    create(), create();
    project.write("one", "--wu_name mine\n");
    run_ok({"sluice_batch", "submit", "1", (project / "one").string()});
    EXPECT_THAT(fails({"submit", "2", (project / "one").string()}),
                HasSubstr("batch 2: job 'mine' is there already, of another batch"));
    project.write("twice", "--wu_name a\n--wu_name a\n");
    EXPECT_THAT(fails({"submit", "2", (project / "twice").string()}), HasSubstr("have the same --wu_name"));
    EXPECT_EQ(jobs(), 1);
}

TEST_F(BatchTool, AnAbortWhileItIsSubmittedHolds) {
    store();
    create();
    std::atomic<int> inserts{0};
    int status = -1;
    // Between the first and the second thousand.
    Through submission({binary_dir() + "/bin/sluice_batch", "submit", "1", jobs_file(2500)}, project / "bin",
                       [&](const std::string& text, int) {
                           if (text.starts_with("BEGIN") || text.starts_with("START"))
                               if (inserts == 1 && status < 0)
                                   status = run_program({"sluice_batch", "abort", "1"}).status;
                           if (text.starts_with("INSERT INTO workunit")) ++inserts;
                           return SqlProxy::Action::kPass;
                       });
    const auto ended = submission.program.wait();
    ASSERT_TRUE(ended);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(ended->status, 1);
    EXPECT_THAT(ended->err, HasSubstr("batch 1: it is aborted and takes no more jobs; 1000 of the file are in it"));
    EXPECT_EQ(rows(Sql("SELECT COUNT(*), SUM(error_mask=16) FROM workunit"), 2), (Table{{"1000", "1000"}}));
    EXPECT_EQ(state(1), "3");
}

TEST_F(BatchTool, AnotherFileAtTheSameTimeIsRefused) {
    store();
    create();
    std::string others;
    for (int i = 0; i < 1000; ++i) others += "--command_line 'other " + std::to_string(i) + "' --rsc_fpops_est 1e12\n";
    project.write("others", others + "--no_such 1\n");
    bool done = false;
    // It has seen an empty batch when the others' thousand come.
    Through submission({binary_dir() + "/bin/sluice_batch", "submit", "1", jobs_file(1500)}, project / "bin",
                       [&](const std::string& text, int) {
                           if (text.starts_with("BEGIN") || text.starts_with("START")) {
                               if (!done) run_program({"sluice_batch", "submit", "1", (project / "others").string()});
                               done = true;
                           }
                           return SqlProxy::Action::kPass;
                       });
    const auto ended = submission.program.wait();
    ASSERT_TRUE(ended);
    EXPECT_EQ(ended->status, 1);
    EXPECT_THAT(ended->err, HasSubstr("batch 1: somebody else submits another file into it"));
    EXPECT_EQ(number(Sql("SELECT COUNT(*) FROM workunit WHERE xml_doc LIKE '%other %'")), 1000);
    EXPECT_EQ(jobs(), 1000);
}

TEST_F(BatchTool, TheNextSubmissionFinishesAKilledOne) {
    const std::vector<std::string> command{binary_dir() + "/bin/sluice_batch", "submit", "1", jobs_file(1002)};
    store();
    const int killed = killed_at_each_statement(
        command, project / "bin",
        [&] {
            db.execute(Sql("TRUNCATE workunit"));
            db.execute(Sql("TRUNCATE batch"));
            create();
        },
        [&] {
            run_ok({"sluice_batch", "submit", "1", command[3]});
        },
        [&](const std::string& when) {
            ASSERT_EQ(rows(Sql("SELECT COUNT(*), COUNT(DISTINCT xml_doc) FROM workunit"), 2), (Table{{"1002", "1002"}}))
                << when;
            ASSERT_EQ(rows(Sql("SELECT state, njobs FROM batch"), 2), (Table{{"1", "1002"}})) << when;
        });
    EXPECT_GT(killed, 20);
}

TEST_F(BatchTool, ALargeSubmissionNeedsLittleMemory) {
    store();
    create();
    // What 20,000 jobs need says it of a million: nothing is kept of a thousand that are in.
    std::atomic<pid_t> pid{0};
    std::size_t first = 0, last = 0;
    Through submission({binary_dir() + "/bin/sluice_batch", "submit", "1", jobs_file(20000)}, project / "bin",
                       [&](const std::string& text, int) {
                           if (!text.starts_with("INSERT INTO workunit")) return SqlProxy::Action::kPass;
                           while (pid == 0) std::this_thread::yield();
                           last = peak_memory(pid);
                           if (first == 0) first = last;
                           return SqlProxy::Action::kPass;
                       });
    pid = submission.program.pid();
    const auto ended = submission.program.wait();
    ASSERT_TRUE(ended);
    ASSERT_EQ(ended->status, 0) << ended->err;
    EXPECT_EQ(jobs(), 20000);
    EXPECT_GT(first, 0u);
    EXPECT_LT(last, first + (8u << 20));
}

}  // namespace
}  // namespace sluice::test
