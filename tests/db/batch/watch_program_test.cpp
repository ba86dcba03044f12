// SPDX-License-Identifier: LGPL-3.0-or-later
// batch_watch on a real database, with commands that note what they get.
#include <algorithm>
#include <filesystem>

#include "sluice/base/files.h"
#include "sluice/db/batch_watch_store.h"
#include "tests/db/batch/batch_fixture.h"

namespace sluice::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class BatchWatchProgram : public BatchFixture {
  protected:
    void options(const std::string& more, int level = 0) {
        config(more + "<sendmail>" + (project / "bin/sendmail").string() + "</sendmail>", level);
    }
    /// bin/NAME, a shell script.
    void script(const std::string& name, const std::string& body) {
        const auto file = project.write("bin/" + name, "#!/bin/sh\n" + body + "\n");
        std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    }
    void commands() {
        script("tell", "echo \"$1|$2|$3|$SLUICE_BATCH_NAME|$SLUICE_OWNER_EMAIL|$SLUICE_EVENT_TEXT\" >> ../told");
        script("sendmail", "cat >> ../mail");
    }
    std::string file(const char* name) { return read_file(project / name).value_or(""); }
    void owner(Id batch_id) {
        db.execute(Sql("INSERT IGNORE INTO user (id, name, email_addr) VALUES (1, 'Ada', 'ada@example.org')"));
        Sql sql("UPDATE batch SET user_id=1, njobs=(SELECT COUNT(*) FROM workunit WHERE batch=batch.id) WHERE id=");
        db.execute(sql << batch_id);
    }
    void failures(Id batch_id, int n, int hosts, int exit_status = 195) {
        for (int i = 0; i < n; ++i)
            unsuccessful(batch_id, 1 + i % hosts, Outcome::kClientError).exit_status = exit_status;
    }
    std::string watch() { return run_ok({"batch_watch", "--one_pass"}); }
    std::int64_t state(Id batch_id) {
        Sql sql("SELECT state FROM batch WHERE id=");
        return number(sql << batch_id);
    }
};

constexpr const char* kTell =
    "<batch_event_command>tell 'a b'</batch_event_command><batch_event_mail>owner, ops@example.org</batch_event_mail>";

TEST_F(BatchWatchProgram, StopsABatchWhoseFirstTenthFailed) {
    commands();
    options(std::string("<batch_stop_failing>1</batch_stop_failing>") + kTell);
    batch(1).name = "May'; touch pwned; $(id)\nBcc: evil@example.org";
    failures(1, 9, 3);
    in_progress(1, 5, 1000);
    for (int i = 0; i < 60; ++i) unsent(1);
    store();
    owner(1);
    watch();
    EXPECT_EQ(state(1), 1) << "nine are too few";
    db.execute(Sql("UPDATE result SET server_state=5, outcome=3, exit_status=195 WHERE server_state=4"));
    EXPECT_THAT(run_ok({"batch_watch", "--dry_run"}), HasSubstr("stopped: none succeeded and 10 failed on 4 hosts"));
    EXPECT_EQ(state(1), 1);
    EXPECT_THAT(watch(), AllOf(HasSubstr("stopped: none succeeded"), HasSubstr("told: stopped")));
    EXPECT_EQ(state(1), 3);
    EXPECT_EQ(number(Sql("SELECT COUNT(*) FROM result WHERE server_state=5 AND outcome=5")), 60);
    EXPECT_EQ(number(Sql("SELECT COUNT(*) FROM workunit WHERE error_mask&16")), 70);
    const std::string reason = "none succeeded and 10 failed on 4 hosts, 10 of them with exit status 195";
    EXPECT_EQ(file("told"),
              "a b|stopped|1|May'; touch pwned; $(id) Bcc: evil@example.org|ada@example.org|" + reason + "\n")
        << "its own words come first";
    EXPECT_THAT(file("mail"), AllOf(HasSubstr("To: ops@example.org, ada@example.org\nSubject: "), HasSubstr(reason),
                                    Not(HasSubstr("\nBcc:"))));
    EXPECT_FALSE(std::filesystem::exists(project / "bin/pwned"));
    watch();
    EXPECT_EQ(std::ranges::count(file("told"), '\n'), 1) << "once";
    EXPECT_THAT(run_ok({"sluice_batch", "show", "1"}), HasSubstr("UTC: " + reason));
    EXPECT_THAT(run_ok({"sluice_batch", "list"}), AllOf(HasSubstr("NOTES"), HasSubstr("stopped")));
    EXPECT_THAT(run_ok({"sluice_batch", "show", "1", "--json"}), HasSubstr("\"event\": \"stopped\""));
    std::filesystem::create_directories(project / "html/user");
    run_ok({"status_page", "--one_pass"});
    EXPECT_THAT(file("html/user/status.html"), HasSubstr("stopped; stopped: " + reason));
    // The alert ends when somebody has dealt with the batch.
    const std::string alarming = "sluice_batch_event_timestamp_seconds{batch=\"1\",event=\"stopped\"}";
    run_ok({"status_page", "--one_pass", "--textfile", "sluice.prom"});
    EXPECT_THAT(file("sluice.prom"), HasSubstr(alarming));
    run_ok({"sluice_batch", "retire", "1"});
    run_ok({"status_page", "--one_pass", "--textfile", "sluice.prom"});
    EXPECT_THAT(file("sluice.prom"), Not(HasSubstr(alarming)));
}

TEST_F(BatchWatchProgram, LeavesOtherBatchesAlone) {
    options("<batch_stop_failing>1</batch_stop_failing>");
    batch(1), failures(1, 20, 4), success(1, 9, 10);  // one succeeded
    batch(2), failures(2, 20, 2);                     // two broken hosts
    batch(3), failures(3, 20, 4, 203);                // volunteers aborted them
    batch(4), failures(4, 20, 4), unsent(4);          // <batch_stop_failing> is on for this one alone, below
    store();
    for (const Id id : {1, 2, 3}) owner(id);
    db.execute(Sql("UPDATE batch SET state=0 WHERE id=4"));
    watch();
    for (const Id id : {1, 2, 3}) EXPECT_EQ(state(id), 1) << id;
    EXPECT_EQ(state(4), 0) << "it is being submitted";
    options("");
    db.execute(Sql("UPDATE batch SET state=1, njobs=21 WHERE id=4"));
    watch();
    EXPECT_EQ(state(4), 1) << "nobody wants it stopped";
}

// A program that is killed between its note and the end of the abort goes on with it.
TEST_F(BatchWatchProgram, GoesOnWithAStopThatWasKilled) {
    commands();
    options(kTell);
    batch(1, 1, BatchState::kAborted);
    batch(2, 1, BatchState::kComplete);
    unsent(1);
    store();
    owner(1);
    watch();
    for (const Id id : {1, 2}) {
        Sql sql("INSERT INTO sluice_batch_event VALUES (");
        db.execute(sql << id << ",'watch',5,'',0,0,0,0),(" << id << ",'stopped',5,'why',0,0,0,0)");
    }
    watch();
    EXPECT_EQ(number(Sql("SELECT COUNT(*) FROM result WHERE server_state=5 AND outcome=5")), 1);
    EXPECT_THAT(file("told"), AllOf(HasSubstr("stopped|1|"), HasSubstr("|why\n"), HasSubstr("done|2|")));
    EXPECT_EQ(number(Sql("SELECT COUNT(*) FROM sluice_batch_event WHERE batch_id=2 AND kind='stopped'")), 0)
        << "it was complete before it could be stopped";
    EXPECT_EQ(number(Sql("SELECT COUNT(*) FROM sluice_batch_event WHERE kind='watch'")), 0);
}

TEST_F(BatchWatchProgram, TellsADoneBatchAndLosesNone) {
    commands();
    options(kTell);
    batch(1), success(1, 1, 10);
    batch(2, 1, BatchState::kComplete).completion_time = now - 50000;
    batch(3), unsent(3);
    batch(4), unsent(4);
    store();
    owner(1);
    watch();
    EXPECT_EQ(file("told"), "") << "batch 2 is old news";
    run_ok({"batch_upkeep", "--one_pass"});
    // Killed while it tells: once more, and not lost.
    script("tell", "echo \"$1|$2\" >> ../told; kill -9 $PPID");
    EXPECT_EQ(run_program({"batch_watch", "--one_pass"}).status, 128 + 9);
    script("tell", "echo \"$1|$2\" >> ../told; exit 4");
    EXPECT_THAT(watch(), HasSubstr("bin/tell ended with status 4; trying again in 60 s"));
    const EventsToTell waiting = make_batch_event_store(db)->to_tell();
    EXPECT_EQ(waiting.n, 1);
    EXPECT_EQ(waiting.most_tries, 1);
    EXPECT_EQ(waiting.oldest, number(Sql("SELECT at FROM sluice_batch_event WHERE due>0")));
    EXPECT_EQ(number(Sql("SELECT told*10+tries FROM sluice_batch_event WHERE batch_id=1 AND due>0")), 21)
        << "the mail is out";
    commands();
    watch();
    EXPECT_EQ(file("told"), "a b|done\na b|done\n") << "not before its time";
    db.execute(Sql("UPDATE sluice_batch_event SET due=1 WHERE due>0"));
    watch();
    EXPECT_THAT(file("told"), HasSubstr("1 of 1 jobs succeeded, 0 failed\n"));
    EXPECT_EQ(std::ranges::count(file("told"), '\n'), 3);
    std::size_t mails = 0;
    const std::string mail = file("mail");
    for (std::size_t at = 0; (at = mail.find("Subject:", at)) != mail.npos; ++at) ++mails;
    EXPECT_EQ(mails, 1u);
    // Aborted by its owner, and deleted: nothing to tell.
    db.execute(Sql("UPDATE batch SET state=3 WHERE id=3"));
    db.execute(Sql("DELETE FROM batch WHERE id=4"));
    watch();
    watch();
    EXPECT_EQ(std::ranges::count(file("told"), '\n'), 3);
    EXPECT_EQ(number(Sql("SELECT COUNT(*) FROM sluice_batch_event WHERE kind='watch' OR due>0")), 0);
    EXPECT_EQ(make_batch_event_store(db)->to_tell().n, 0);
}

TEST_F(BatchWatchProgram, NotesSlowAndLateBatches) {
    commands();
    options(kTell, 1);
    batch(1).est_completion_time = static_cast<double>(now + 1000);
    for (int i = 0; i < 6; ++i) success(1, 1 + i, 30000).elapsed_time = 20000;  // of 1e12 operations, at 1e9 a second
    batch(2);
    for (int i = 0; i < 6; ++i) success(2, 1 + i, 30000).elapsed_time = i == 0 ? 1e6 : 900;
    unsent(1), unsent(2);
    store();
    owner(1);
    EXPECT_THAT(watch(), HasSubstr("slow: 6 of 6 jobs that came back took at least 10 times their estimate, 20 times"));
    Sql later("UPDATE batch SET est_completion_time=");
    db.execute(later << now + 100000 << " WHERE id=1");
    EXPECT_THAT(watch(), HasSubstr("late: its first ETA said"));
    watch();
    EXPECT_EQ(std::ranges::count(file("told"), '\n'), 2);
    EXPECT_EQ(number(Sql("SELECT COUNT(*) FROM sluice_batch_event WHERE batch_id=2 AND kind<>'watch'")), 0);
}

}  // namespace
}  // namespace sluice::test
