// SPDX-License-Identifier: LGPL-3.0-or-later
// file_deleter with real files and a real MariaDB. What upstream's program did in the same cases is said beside them.
#include <csignal>

#include "daemons/cleaning/file_deleter.h"
#include "tests/db/batch/killed_program.h"
#include "tests/db/cleaning/cleaning_world.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;
using testing::Not;
constexpr auto kInit = FileDeleteState::kInit, kReady = FileDeleteState::kReady, kDone = FileDeleteState::kDone,
               kError = FileDeleteState::kError;

using Files = CleaningWorld;

TEST_F(Files, OfReleasedRowsGo) {
    workunit(1, kReady), workunit(2, kInit), result(10, 1, kReady), result(11, 1, kInit), result(12, 1, kDone);
    write(input("in_1").string() + ".gz"), write(input("in_1").string() + ".md5");
    store();
    const RunResult r = run_program({"file_deleter", "-d", "4", "--one_pass"});
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_THAT(r.err, HasSubstr("[RESULT#10] unlinked " + output("out_10").string()));
    EXPECT_THAT(r.err, HasSubstr("[WU#1] deleting in_1\n"));
    EXPECT_THAT(r.err, HasSubstr("[WU#1] deleted in_1.gz\n"));
    for (const auto& gone :
         {output("out_10"), input("in_1"), input("in_1.gz"), fs::path(input("in_1").string() + ".md5")})
        EXPECT_FALSE(fs::exists(gone)) << gone;
    for (const auto& there : {output("out_11"), output("out_12"), input("in_2")})
        EXPECT_TRUE(fs::exists(there)) << there;
    EXPECT_EQ(states(FilesOf::kResult), (std::map<Id, int>{{10, 2}, {11, 0}, {12, 2}}));
    EXPECT_EQ(states(FilesOf::kWorkunit), (std::map<Id, int>{{1, 2}, {2, 0}}));
}

// Without fan-out folders NAME.gz and NAME.md5 lie beside NAME also if they are input files of another workunit.
TEST_F(Files, InputsThatLookLikeCopiesStay) {
    const auto flat = [&](const std::string& name) { return project_ / "flat" / name; };
    project_.write("config.xml",
                   "<boinc><config>" + PrivateMariaDb::shared().config_elements("cleaning") +
                       "<uldl_dir_fanout>0</uldl_dir_fanout><cache_md5_info>1</cache_md5_info><download_dir>" +
                       (project_ / "flat").string() + "</download_dir><upload_dir>" + upload().string() +
                       "</upload_dir></config></boinc>");
    for (Id id = 1; id <= 2; ++id) workunit(id, kReady).xml_doc = file_info(id == 1 ? "own" : "made");
    for (const char* file : {"own", "own.gz", "own.md5", "made"}) project_.write(std::string("flat/") + file, "text");
    project_.write("flat/made.md5", "1cb251ec0d568de6a929b520c4aed8d1 4\n");
    ASSERT_EQ(run({"gzip", "-k", flat("made").string()}).status, 0);
    store();
    const RunResult r = run_program({"file_deleter", "--one_pass"});
    ASSERT_EQ(r.status, 0) << r.err;
    for (const char* gone : {"own", "made", "made.gz", "made.md5"}) EXPECT_FALSE(fs::exists(flat(gone))) << gone;
    for (const char* there : {"own.gz", "own.md5"}) EXPECT_TRUE(fs::exists(flat(there))) << there;
}

// Killed between the file and what lies beside it.
TEST_F(Files, AKillLeavesNothingBesideAnInput) {
    workunit(1, kReady);
    fs::remove(input("in_1"));
    const std::string gz = input("in_1").string() + ".gz", md5 = input("in_1").string() + ".md5";
    write(gz), write(md5);
    store();
    ASSERT_EQ(run_program({"file_deleter", "--one_pass"}).status, 0);
    EXPECT_FALSE(fs::exists(gz));
    EXPECT_FALSE(fs::exists(md5));
    EXPECT_EQ(states(FilesOf::kWorkunit).at(1), 2);
}

// Upstream: a missing file is no error, a missing fan-out folder is one, which is tried again each hour.
TEST_F(Files, MissingOnesAreDoneWithoutFolderAnError) {
    workunit(1, kReady), workunit(2, kInit), result(10, 1, kReady),
        result(11, 1, kReady).outcome = Outcome::kClientError;
    result(12, 1, kReady), result(13, 2, kInit);
    fs::remove(output("out_10")), fs::remove(output("out_11")), fs::remove(input("in_1"));
    std::set<fs::path> used;
    for (const char* name : {"out_10", "out_11", "out_12", "out_13"}) used.insert(output(name).parent_path());
    std::string elsewhere = "elsewhere";
    while (used.contains(output(elsewhere).parent_path()) && elsewhere.size() < 60) elsewhere += "x";
    const fs::path folder = output(elsewhere).parent_path();
    ASSERT_FALSE(used.contains(folder));
    fs::remove_all(folder);
    rows_.results.at(12).xml_doc_in = file_info(elsewhere) + file_info("out_12");
    store();
    const RunResult r = run_program({"file_deleter", "-d", "4", "--one_pass", "--dont_retry_errors"});
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_THAT(r.err, HasSubstr(" UTC [RESULT#10] outcome=1 client_state=0 No file out_10 to delete"));
    EXPECT_THAT(r.err, HasSubstr("[debug] [RESULT#11] outcome=3 client_state=0 No file out_11 to delete"));
    EXPECT_THAT(r.err, HasSubstr("[CRITICAL] [RESULT#12] missing dir for " + folder.string()));
    EXPECT_THAT(r.err, HasSubstr(" UTC [WU#1] get_file_path: in_1: not found"));
    EXPECT_FALSE(fs::exists(output("out_12"))) << "the other files of the row are deleted all the same";
    EXPECT_EQ(states(FilesOf::kResult), (std::map<Id, int>{{10, 2}, {11, 2}, {12, 3}, {13, 0}}));
    EXPECT_EQ(states(FilesOf::kWorkunit), (std::map<Id, int>{{1, 2}, {2, 0}}));
    // The folder comes: a later run mends the row.
    fs::create_directories(folder);
    ASSERT_EQ(run_program({"file_deleter", "--one_pass"}).status, 0);
    EXPECT_EQ(states(FilesOf::kResult).at(12), 2);
}

TEST_F(Files, NoDeleteKeepsInputFiles) {
    workunit(1, kReady).xml_doc = file_info("in_1", "<no_delete/>\n") + file_info("own_1");
    write(input("own_1"));
    workunit(2, kReady, "nodelete_2"), result(20, 2, kReady);
    store();
    ASSERT_EQ(run_program({"file_deleter", "--one_pass"}).status, 0);
    EXPECT_TRUE(fs::exists(input("in_1")));
    EXPECT_FALSE(fs::exists(input("own_1")));
    EXPECT_TRUE(fs::exists(input("in_2")));
    EXPECT_FALSE(fs::exists(output("out_20")));
    EXPECT_EQ(states(FilesOf::kWorkunit), (std::map<Id, int>{{1, 2}, {2, 2}}));
}

TEST_F(Files, OptionsChooseRowsAndFiles) {
    const auto again = [&] {
        truncate_all_tables(db_);
        rows_.workunits.clear(), rows_.results.clear();
        for (Id id = 1; id <= 4; ++id)
            workunit(id, kReady).appid = id <= 2 ? 1 : 2, result(id, id, kReady).appid = id <= 2 ? 1 : 2;
        rows_.workunits.at(3).xml_doc += "<shared/>";
        store();
    };
    const auto left = [&](const std::vector<std::string>& words) {
        again();
        std::vector<std::string> command{"file_deleter", "--one_pass"};
        command.insert(command.end(), words.begin(), words.end());
        const RunResult r = run_program(command);
        EXPECT_EQ(r.status, 0) << r.err;
        std::string text;
        for (Id id = 1; id <= 4; ++id) {
            if (fs::exists(output("out_" + std::to_string(id)))) text += "o" + std::to_string(id);
            if (fs::exists(input("in_" + std::to_string(id)))) text += "i" + std::to_string(id);
        }
        return text;
    };
    EXPECT_EQ(left({}), "");
    EXPECT_EQ(left({"--output_files_only"}), "i1i2i3i4");
    EXPECT_EQ(left({"--input_files_only", "--xml_doc_like", "%shared%"}), "o1i1o2i2o3o4i4");
    EXPECT_EQ(left({"--app", "two"}), "o1i1o2i2");
    EXPECT_EQ(left({"--app", "two", "--appid", "1"}), "o3i3o4i4");
    EXPECT_EQ(left({"--mod", "2", "1"}), "o2i2o4i4");
    EXPECT_EQ(left({"--preserve_wu_files", "--preserve_result_files"}), "o1i1o2i2o3i3o4i4");
    EXPECT_EQ(states(FilesOf::kWorkunit), (std::map<Id, int>{{1, 2}, {2, 2}, {3, 2}, {4, 2}}));
    EXPECT_EQ(left({"--no_db_update"}), "");
    EXPECT_EQ(states(FilesOf::kResult), (std::map<Id, int>{{1, 1}, {2, 1}, {3, 1}, {4, 1}}));
    EXPECT_EQ(left({"--dry_run"}), "o1i1o2i2o3i3o4i4");
    EXPECT_EQ(states(FilesOf::kResult), (std::map<Id, int>{{1, 1}, {2, 1}, {3, 1}, {4, 1}}));
    EXPECT_EQ(run_program({"file_deleter", "--one_pass", "--app", "nobody"}).status, 1);
}

// What upstream took for files that are gone: the rows were done, and the files never deleted.
TEST_F(Files, WhereNothingIsMountedNothingIsMarked) {
    workunit(1, kReady), result(10, 1, kReady);
    store();
    for (const bool folders : {true, false}) {
        fs::remove(output("out_10"));
        if (!folders) fs::remove_all(upload());
        const RunResult r = run_program({"file_deleter", "--one_pass"});
        EXPECT_EQ(r.status, 1);
        EXPECT_THAT(r.err, HasSubstr(upload().string() + ": "));
        EXPECT_THAT(r.err, HasSubstr("Nothing is deleted or marked there"));
        EXPECT_EQ(states(FilesOf::kResult).at(10), 1);
    }
    EXPECT_FALSE(fs::exists(input("in_1"))) << "the other folder is there";
    EXPECT_EQ(run_program({"file_deleter", "--one_pass", "--output_files_only", "--preserve_result_files"}).status, 0);
    EXPECT_EQ(states(FilesOf::kResult).at(10), 2);
}

TEST_F(Files, TheLastOnesOfAFolderMayGo) {
    for (Id id = 1; id <= 5; ++id) workunit(id, kReady), result(id, id, kReady);
    fs::remove(output("out_5"));
    store();
    const RunResult r = run_program({"file_deleter", "--one_pass"});
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(states(FilesOf::kResult), (std::map<Id, int>{{1, 2}, {2, 2}, {3, 2}, {4, 2}, {5, 2}}));
}

TEST_F(Files, NamesAndLinksLeadNowhereElse) {
    project_.write("secret", "x"), project_.write("keys/out_10", "x");
    workunit(1, kInit), result(10, 1, kReady), result(11, 1, kReady), result(12, 1, kInit);
    rows_.results.at(11).xml_doc_in = file_info("../secret") + file_info("a/b") + file_info("");
    store();
    const fs::path folder = output("out_10").parent_path();
    fs::rename(folder, project_ / "moved");
    fs::create_symlink(project_ / "keys", folder);
    const bool root = ::geteuid() == 0;
    if (root) {
        ASSERT_EQ(::lchown(folder.c_str(), 65534, 65534), 0);
    }
    write(project_ / "moved" / "out_12");
    const RunResult r = run_program({"file_deleter", "--one_pass", "--dont_retry_errors"});
    EXPECT_TRUE(fs::exists(project_ / "secret"));
    EXPECT_THAT(r.err, HasSubstr("[RESULT#11] '../secret' is no name of a file"));
    // The project's own links are followed: folders on other disks. Another account's are not.
    EXPECT_EQ(fs::exists(project_ / "keys/out_10"), root) << r.err;
    EXPECT_EQ(states(FilesOf::kResult).at(10), root ? 3 : 2);
    EXPECT_EQ(states(FilesOf::kResult).at(11), 2);
}

// A group's file was gone with its first workunit: features that work alone.
TEST_F(Files, FileGroupsKeepFilesUntilAllAreDone) {
    for (Id id = 1; id <= 2; ++id) {
        workunit(id, kReady).xml_doc = file_info("shared") + file_info("in_" + std::to_string(id));
        rows_.workunits.at(id).assimilate_state = id == 1 ? AssimilateState::kDone : AssimilateState::kInit;
    }
    rows_.workunits.at(2).file_delete_state = kInit;
    write(input("shared"));
    store();
    db_.execute(Sql(
        "CREATE TABLE IF NOT EXISTS sluice_file_group (id bigint NOT NULL PRIMARY KEY, name varbinary(254), idle_since bigint)"));
    db_.execute(Sql("CREATE TABLE IF NOT EXISTS sluice_file_group_wu (group_id bigint, workunitid bigint)"));
    db_.execute(Sql("INSERT INTO sluice_file_group VALUES (1, 'shared', 0)"));
    db_.execute(Sql("INSERT INTO sluice_file_group_wu VALUES (1, 1), (1, 2)"));
    ASSERT_EQ(run_program({"file_deleter", "--one_pass"}).status, 0);
    EXPECT_TRUE(fs::exists(input("shared")));
    EXPECT_FALSE(fs::exists(input("in_1")));
    db_.execute(Sql("UPDATE workunit SET assimilate_state=2, file_delete_state=1 WHERE id=2"));
    ASSERT_EQ(run_program({"file_deleter", "--one_pass"}).status, 0);
    EXPECT_FALSE(fs::exists(input("shared")));
    db_.execute(Sql("DROP TABLE sluice_file_group, sluice_file_group_wu"));
}

/// Rows in all states at random; which of their files may go, by the rule written a second time.
class RandomFiles : public CleaningWorld {
  protected:
    void make(unsigned seed) {
        std::mt19937 random(seed);
        const auto draw = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
        truncate_all_tables(db_);
        rows_.workunits.clear(), rows_.results.clear(), kept_.clear(), gone_.clear();
        for (Id id = 1; id <= 30; ++id) {
            const auto state = static_cast<FileDeleteState>(draw(4));
            Workunit& w = workunit(id, state, draw(8) == 0 ? "nodelete_" + std::to_string(id) : "");
            const bool keep = draw(5) == 0;
            if (keep) w.xml_doc = file_info("in_" + std::to_string(id), "<no_delete>1</no_delete>\n");
            const bool released = state == kReady || state == kError;
            (released && !keep && !w.name.starts_with("nodelete") ? gone_ : kept_)
                .insert(input("in_" + std::to_string(id)));
            for (int n = draw(3); n >= 0; --n) {
                const Id result_id = id * 10 + n;
                const auto of_result = static_cast<FileDeleteState>(draw(4));
                result(result_id, id, of_result);
                (of_result == kReady || of_result == kError ? gone_ : kept_)
                    .insert(output("out_" + std::to_string(result_id)));
            }
        }
        store();
    }
    void check(const std::string& when, bool finished) {
        for (const fs::path& file : kept_) EXPECT_TRUE(fs::exists(file)) << when << ": " << file;
        if (!finished) return;
        for (const fs::path& file : gone_) EXPECT_FALSE(fs::exists(file)) << when << ": " << file;
        for (const FilesOf of : {FilesOf::kResult, FilesOf::kWorkunit})
            for (const auto& [id, state] : states(of)) EXPECT_THAT(state, testing::AnyOf(0, 2)) << when << ": " << id;
    }
    std::set<fs::path> kept_, gone_;
};

TEST_F(RandomFiles, NothingOfALiveRowIsDeleted) {
    for (unsigned seed = 1; seed <= 10; ++seed) {
        make(seed);
        ASSERT_EQ(run_program({"file_deleter", "--one_pass"}).status, 0);
        check("seed " + std::to_string(seed), true);
    }
}

TEST_F(RandomFiles, AKillAtAnyStatementLosesNothing) {
    const std::vector<std::string> words{program("file_deleter"), "--one_pass"};
    unsigned seed = 0;
    const int killed = killed_at_each_statement(
        words, project_.path(), [&] { make(++seed); },
        [&] {
            check("after the kill", false);
            ASSERT_EQ(run_program({"file_deleter", "--one_pass"}).status, 0);
        },
        [&](const std::string& when) { check(when, true); });
    EXPECT_GE(killed, 10);
}

// Between two deletions: the daemon is killed while it works on a page, at the first file that is gone.
TEST_F(RandomFiles, AKillAmongDeletionsLosesNothing) {
    for (unsigned seed = 1; seed <= 5; ++seed) {
        make(seed);
        RunOptions options;
        options.env["BOINC_PROJECT_DIR"] = project_.path().string();
        Subprocess daemon({program("file_deleter")}, options);
        const auto some_gone = [&] {
            return std::ranges::any_of(gone_, [](const fs::path& f) { return !fs::exists(f); });
        };
        while (!some_gone()) std::this_thread::yield();
        ::kill(daemon.pid(), SIGKILL);
        daemon.wait();
        check("killed", false);
        ASSERT_EQ(run_program({"file_deleter", "--one_pass"}).status, 0);
        check("after the kill", true);
    }
}

}  // namespace
}  // namespace sluice::test
