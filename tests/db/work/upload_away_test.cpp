// SPDX-License-Identifier: LGPL-3.0-or-later
// Output files that can't be read, with the real programs: their results stay to be judged, and nothing is assimilated
// without them.
#include <chrono>
#include <ctime>

#include "tests/db/work/work_chain.h"

namespace sluice::test {
namespace {

class UploadAway : public WorkChain {
  protected:
    fs::path upload_ = project_ / "upload";

    ~UploadAway() override { fs::permissions(upload_, fs::perms::owner_all); }

    fs::path output(Id result) const { return fanout_path(upload_, "w_" + std::to_string(result) + "_r1_0", 1024); }
    RunResult validate() { return run_program({"sample_bitwise_validator", "--app", "a", "--one_pass"}); }
    RunResult assimilate() {
        return run_program({"script_assimilator", "--app", "a", "--one_pass", "--script", "collect wu_name files"});
    }
    std::vector<std::string> workunit() {
        return rows_of(db_, Sql("SELECT need_validate, target_nresults, error_mask, canonical_resultid FROM workunit"),
                       4)[0];
    }
    /// `n` jobs of one instance each, with ids from 1 and from 101, all returned by host 1.
    void many(int n) {
        stage("many");
        std::string lines;
        for (int i = 1; i <= n; ++i) lines += "--wu_name m" + std::to_string(i) + " many\n";
        ASSERT_EQ(run_program({"create_work", "--appname", "a", "--stdin"}, lines).status, 0);
        for (int i = 1; i <= n; ++i) returned(100 + i, i, 1, "x");
        db_.execute(Sql("UPDATE workunit SET need_validate=1"));
        all_reported_now();
    }
    void all_reported_now() {
        db_.execute(Sql("UPDATE result SET received_time=") << static_cast<std::int64_t>(std::time(nullptr)));
    }
    /// As if all that was reported had been reported so many s earlier.
    void reported_earlier(std::int64_t seconds) {
        db_.execute(Sql("UPDATE result SET received_time=received_time-") << seconds);
    }
    std::int64_t lost() { return number_of(db_, Sql("SELECT COUNT(*) FROM result WHERE outcome=6")); }
    /// One more job, returned by `host` just now.
    void one_more(Id id, Id host, const char* text = "x") {
        const std::string name = "one" + std::to_string(id);
        stage(name);
        ASSERT_EQ(run_program({"create_work", "--appname", "a", "--wu_name", name, name}).status, 0);
        const Id wu = number_of(db_, Sql("SELECT MAX(id) FROM workunit"));
        returned(id, wu, host, text);
        db_.execute(Sql("UPDATE workunit SET need_validate=1 WHERE id=") << wu);
        db_.execute(Sql("UPDATE result SET received_time=")
                    << static_cast<std::int64_t>(std::time(nullptr)) << " WHERE id=" << id);
    }
    /// As make_project makes it, with a file of long ago.
    void make_tree() {
        for (unsigned i = 0; i < 1024; ++i) fs::create_directories(upload_ / fanout_folder(i));
        const fs::path old = upload_ / "3" / "old";
        std::ofstream(old) << "x";
        fs::last_write_time(old, fs::last_write_time(old) - std::chrono::hours(1000));
    }
    std::int64_t valid() { return number_of(db_, Sql("SELECT COUNT(*) FROM result WHERE validate_state=1")); }
    void add_script() {
        project_.write("bin/collect", "#!/bin/sh\necho \"$@\" >> " + (project_ / "calls").string() + "\n");
        fs::permissions(project_ / "bin/collect", fs::perms::owner_all);
    }
};

std::size_t times(const std::string& what, const std::string& text) {
    std::size_t n = 0;
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
    return n;
}

TEST_F(UploadAway, ResultsStayAndGetTheirCredit) {
    make_workunit(2);
    returned(10, 1, 1, "same");
    returned(11, 1, 2, "same");
    const Table untouched{{"10", "5", "1", "0"}, {"11", "5", "1", "0"}};
    const std::vector<std::string> waiting{"1", "2", "0", "0"};
    const fs::path file = output(11), folder = file.parent_path();
    const auto nothing_is_judged = [&](const std::string& why) {
        const RunResult r = validate();
        EXPECT_EQ(r.status, 0) << r.err;
        EXPECT_NE(r.err.find("[RESULT#11 w_11] not judged: " + file.string() + ": " + why), std::string::npos) << r.err;
        EXPECT_EQ(results(), untouched) << why;
        EXPECT_EQ(workunit(), waiting) << why;
    };
    for (const fs::path& closed : {file, folder, upload_}) {
        fs::permissions(closed, fs::perms::none);
        nothing_is_judged("Permission denied");
        fs::permissions(closed, fs::perms::owner_all);
    }
    fs::rename(folder, project_ / "folder");
    nothing_is_judged("No such file or directory, its folder is not there");
    fs::rename(project_ / "folder", folder);
    fs::rename(upload_, project_ / "elsewhere");
    nothing_is_judged("No such file or directory");
    fs::create_directory(upload_);  // where the file system was mounted
    nothing_is_judged("No such file or directory, its folder is not there, nor is any file below");
    fs::remove(upload_);
    fs::rename(project_ / "elsewhere", upload_);
    EXPECT_EQ(validate().status, 0);
    EXPECT_EQ(results(), (Table{{"10", "5", "1", "1"}, {"11", "5", "1", "1"}}));
    EXPECT_EQ(number_of(db_, Sql("SELECT COUNT(*) FROM result WHERE granted_credit>0")), 2);
}

TEST_F(UploadAway, DaemonJudgesThemSoonAfterFilesAreBack) {
    make_workunit(1);
    returned(10, 1, 1, "x");
    fs::permissions(upload_, fs::perms::none);
    RunOptions options;
    options.env["BOINC_PROJECT_DIR"] = project_.path().string();
    Subprocess validator(
        {std::string(SLUICE_BIN) + "/sample_bitwise_validator", "--app", "a", "--sleep_interval", "0.1"}, options);
    ASSERT_TRUE(eventually([&] { return validator.err().find("not judged") != std::string::npos; }));
    fs::permissions(upload_, fs::perms::owner_all);
    EXPECT_TRUE(eventually([&] { return valid() == 1; })) << validator.err();
    EXPECT_LE(times("not judged", validator.err()), 5u) << "back-off: " << validator.err();
}

TEST_F(UploadAway, BrakeHoldsAndIsNamedOnceMinute) {
    many(20);
    fs::permissions(upload_, fs::perms::none);
    const auto start = std::chrono::steady_clock::now();
    RunOptions options;
    options.env["BOINC_PROJECT_DIR"] = project_.path().string();
    Subprocess validator(
        {std::string(SLUICE_BIN) + "/sample_bitwise_validator", "--app", "a", "--sleep_interval", "0.1"}, options);
    const auto said = [&] { return times("nothing is judged: the files of 20 of 20 results", validator.err()); };
    ASSERT_TRUE(eventually([&] { return said() > 0; })) << validator.err();
    EXPECT_EQ(number_of(db_, Sql("SELECT COUNT(*) FROM result WHERE outcome=1 AND validate_state=0")), 20);
    EXPECT_EQ(count("need_validate=1 AND canonical_resultid=0"), 20);
    fs::permissions(upload_, fs::perms::owner_all);
    EXPECT_TRUE(eventually([&] { return valid() == 20; }, 180)) << validator.err();
    const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(std::chrono::steady_clock::now() - start);
    EXPECT_LE(said(), 1u + static_cast<std::size_t>(minutes.count())) << validator.err();
    EXPECT_EQ(times("Validate error", validator.err()), 0u);
    EXPECT_EQ(times("Invalid", validator.err()), 0u);
}

TEST_F(UploadAway, OneLostFileOfManyIsAnError) {
    make_workunit(2);
    returned(10, 1, 1, "same");
    returned(11, 1, 2, "same");
    returned(12, 1, 3, "same");
    fs::remove(output(11));
    const RunResult r = validate();
    EXPECT_NE(r.err.find("[RESULT#11 w_11] Validate error: " + output(11).string() + ": No such file or directory"),
              std::string::npos)
        << r.err;
    EXPECT_EQ(results(), (Table{{"10", "5", "1", "1"}, {"11", "5", "6", "2"}, {"12", "5", "1", "1"}}));
}

TEST_F(UploadAway, WhenMostFilesFailNothingIsJudged) {
    many(20);
    for (int i = 1; i <= 12; ++i) fs::permissions(output(100 + i), fs::perms::none);
    const RunResult r = validate();
    EXPECT_EQ(r.status, 0);
    EXPECT_EQ(times("\n", r.err), 1u) << r.err;
    EXPECT_NE(r.err.find("nothing is judged: the files of 12 of 20 results can't be read, the first: " +
                         output(101).string() + ": Permission denied"),
              std::string::npos)
        << r.err;
    EXPECT_EQ(valid(), 0);
    EXPECT_EQ(count("need_validate=1 AND canonical_resultid=0"), 20);
    for (int i = 1; i <= 12; ++i) fs::permissions(output(100 + i), fs::perms::owner_all);
    validate();
    EXPECT_EQ(valid(), 20);
}

// A snapshot of yesterday in place of the file system: the folders are there, the new files are not.
TEST_F(UploadAway, FilesMissingTogetherAreNotJudged) {
    many(20);
    for (int i = 1; i <= 15; ++i) fs::remove(output(100 + i));
    EXPECT_NE(validate().err.find("only what can be read is judged: the files of 15 of 20 results"), std::string::npos);
    EXPECT_EQ(number_of(db_, Sql("SELECT COUNT(*) FROM result WHERE outcome=1 AND validate_state=0")), 15);
    EXPECT_EQ(valid(), 5) << "what was read";
    reported_earlier(8 * 86400);
    EXPECT_NE(validate().err.find("nothing is judged: the files of 15 of 15 results"), std::string::npos);
    EXPECT_EQ(lost(), 0) << "nothing else can be read";
    one_more(200, 2);
    validate();
    EXPECT_EQ(lost(), 15) << "the folder is back, and they are lost";
    EXPECT_EQ(valid(), 6);
}

/// What make_project makes, below a file system that is not mounted, and one file that somebody put there.
TEST_F(UploadAway, ALongOutageLosesNothing) {
    many(8);
    fs::remove_all(upload_);
    make_tree();
    for (int i = 0; i < 3; ++i) {
        EXPECT_NE(validate().err.find("nothing is judged: the files of 8 of 8 results"), std::string::npos);
        EXPECT_EQ(lost(), 0);
        EXPECT_EQ(count("need_validate=1"), 8);
        reported_earlier(25 * 3600 + i * 30 * 86400);
    }
}

TEST_F(UploadAway, AChangedFanoutLosesNoResult) {
    std::string config = read_file(project_ / "config.xml").value();
    const std::string was = "<uldl_dir_fanout>1024<";
    project_.write("config.xml", config.replace(config.find(was), was.size(), "<uldl_dir_fanout>512<"));
    make_tree();
    int moved = 0;
    for (int i = 1; i <= 12; ++i) {
        one_more(100 + i, i);
        moved += output(100 + i) == fanout_path(upload_, output(100 + i).filename().string(), 512) ? 0 : 1;
        const RunResult r = validate();
        EXPECT_EQ(lost(), 0) << r.err;
    }
    ASSERT_GT(moved, 0);
    EXPECT_EQ(valid(), 12 - moved);
    // With many others that can be read, the file itself shows what is wrong.
    for (int i = 21; i <= 60; ++i) {
        one_more(100 + i, i);
        const fs::path there = fanout_path(upload_, output(100 + i).filename().string(), 512);
        if (there != output(100 + i)) fs::rename(output(100 + i), there);
    }
    const RunResult r = validate();
    EXPECT_EQ(lost(), 0) << r.err;
    EXPECT_EQ(valid(), 52 - moved);
    EXPECT_EQ(static_cast<int>(times("it lies in " + upload_.string(), r.err)), moved) << r.err;
}

/// start makes a hash folder that is missing.
TEST_F(UploadAway, HashFolderMadeAnewIsNotOldOne) {
    many(9);
    const fs::path folder = output(101).parent_path();
    fs::remove_all(folder);
    fs::create_directory(folder);
    for (const auto& file : fs::recursive_directory_iterator(upload_))
        if (file.is_regular_file()) fs::last_write_time(file, file.last_write_time() - std::chrono::hours(1));
    reported_earlier(600);
    const RunResult r = validate();
    EXPECT_EQ(lost(), 0) << r.err;
    EXPECT_GE(valid(), 5);
    EXPECT_NE(r.err.find(output(101).string() + ": No such file or directory, its folder was made after the report"),
              std::string::npos)
        << r.err;
}

TEST_F(UploadAway, VolunteersWhoUploadNothingHoldUpNobodyElse) {
    make_tree();
    for (Id i = 1; i <= 10; ++i) {
        one_more(100 + i, i);
        if (i <= 7) fs::remove(output(100 + i));
    }
    const RunResult r = validate();
    EXPECT_EQ(valid(), 3) << r.err;
    EXPECT_EQ(lost(), 0);
    EXPECT_EQ(count("need_validate=1"), 7);
    for (Id i = 11; i <= 20; ++i) one_more(100 + i, i);
    validate();
    EXPECT_EQ(valid(), 13);
    EXPECT_EQ(lost(), 7) << "most files can be read again";
}

TEST_F(UploadAway, AssimilatorCallsNoScriptForFilesAway) {
    make_workunit(1);
    returned(10, 1, 1, "x");
    validate();
    stage("g");
    ASSERT_EQ(run_program({"create_work", "--appname", "a", "--wu_name", "failed", "g"}).status, 0);
    db_.execute(Sql("UPDATE workunit SET error_mask=2, assimilate_state=1 WHERE name='failed'"));
    add_script();
    const fs::path file = output(10);
    const auto not_called = [&](const std::string& why) {
        const RunResult r = assimilate();
        EXPECT_NE(r.err.find("[WU#1 w] " + file.string() + ": " + why), std::string::npos) << r.err;
        EXPECT_EQ(count("name='w' AND assimilate_state=1"), 1);
    };
    fs::permissions(upload_, fs::perms::none);
    not_called("Permission denied");
    EXPECT_EQ(read_file(project_ / "calls"), "--error 2 failed 2 0\n") << "what failed has no files";
    fs::permissions(upload_, fs::perms::owner_all);
    fs::permissions(file, fs::perms::none);
    not_called("Permission denied");
    fs::permissions(file, fs::perms::owner_all);
    fs::rename(upload_, project_ / "elsewhere");
    fs::create_directory(upload_);
    not_called("No such file or directory");
    fs::remove(upload_);
    fs::rename(project_ / "elsewhere", upload_);
    assimilate();
    EXPECT_EQ(read_file(project_ / "calls"), "--error 2 failed 2 0\nw " + file.string() + "\n");
    EXPECT_EQ(count("assimilate_state=2"), 2);
}

TEST_F(UploadAway, ScriptThatMovedItsFilesIsCalledAgain) {
    make_workunit(1);
    returned(10, 1, 1, "x");
    returned(20, 2, 1, "of another job");
    validate();
    add_script();
    fs::remove(output(10));
    const RunResult r = assimilate();
    EXPECT_NE(r.err.find(output(10).string() + ": No such file or directory: collect is called all the same"),
              std::string::npos)
        << r.err;
    EXPECT_EQ(count("assimilate_state=2"), 1);
}

TEST_F(UploadAway, AScriptWithoutFilesIsStillCalled) {
    many(12);
    validate();
    ASSERT_EQ(valid(), 12);
    add_script();
    fs::rename(upload_, project_ / "elsewhere");
    const RunResult r = run_program({"script_assimilator", "--app", "a", "--one_pass", "--script", "collect wu_name"});
    fs::rename(project_ / "elsewhere", upload_);
    EXPECT_EQ(count("assimilate_state=2"), 12) << r.err;
    EXPECT_EQ(times("\n", read_file(project_ / "calls").value_or("")), 12u);
}

TEST_F(UploadAway, AssimilatorHoldsBackWhenMostFilesAreMissing) {
    many(12);
    validate();
    ASSERT_EQ(valid(), 12);
    add_script();
    for (int i = 1; i <= 10; ++i) fs::remove(output(100 + i));
    const RunResult r = assimilate();
    EXPECT_NE(r.err.find("only what can be read is assimilated: the files of 10 of 12 results can't be read"),
              std::string::npos)
        << r.err;
    EXPECT_EQ(times("\n", read_file(project_ / "calls").value_or("")), 2u);
    EXPECT_EQ(count("assimilate_state=1"), 10);
    reported_earlier(8 * 86400);
    EXPECT_NE(assimilate().err.find("nothing is assimilated: the files of 10 of 10 results"), std::string::npos);
    EXPECT_EQ(count("assimilate_state=1"), 10) << "after a long outage, too";
}

}  // namespace
}  // namespace sluice::test
