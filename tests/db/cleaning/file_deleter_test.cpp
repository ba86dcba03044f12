// SPDX-License-Identifier: LGPL-3.0-or-later
// file_deleter with real files and a real MariaDB. What upstream's program did in the same cases is said beside them.
#include <atomic>
#include <csignal>
#include <thread>

#include "daemons/cleaning/file_deleter.h"
#include "db/mysql/file_groups.h"
#include "sluice/db/work_store.h"
#include "tests/db/batch/killed_program.h"
#include "tests/db/cleaning/cleaning_world.h"
#include "tests/support/fake_clock.h"
#include "tests/support/paths.h"

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

TEST_F(Files, WhatIsUnmountedMeanwhileIsNotMarked) {
    result(10, 1, kReady);
    store();
    const auto judge = [&](const std::string& text, int) {
        if (text.find("FROM result FORCE") == text.npos) return SqlProxy::Action::kPass;
        fs::rename(upload(), project_ / "disk");
        for (int i = 0; i < kFanout; ++i) fs::create_directories(upload() / fanout_folder(static_cast<unsigned>(i)));
        return SqlProxy::Action::kPass;
    };
    Through through({program("file_deleter"), "--one_pass"}, project_.path(), judge);
    const RunResult r = through.program.wait().value();
    EXPECT_EQ(r.status, 1);
    EXPECT_THAT(r.err, HasSubstr("Nothing is deleted or marked there"));
    EXPECT_EQ(states(FilesOf::kResult).at(10), 1);
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
TEST_F(Files, FileGroupsKeepFilesUntilAllAreReleased) {
    prepare_file_groups(db_);
    for (Id id = 1; id <= 2; ++id) {
        workunit(id, id == 1 ? kReady : kInit).xml_doc = file_info("shared") + file_info("in_" + std::to_string(id));
        rows_.workunits.at(id).assimilate_state = AssimilateState::kDone;  // of 2 a host still has a result
        add_to_group("shared", id);
    }
    write(input("shared"));
    store();
    ASSERT_EQ(run_program({"file_deleter", "--one_pass"}).status, 0);
    EXPECT_TRUE(fs::exists(input("shared")));
    EXPECT_FALSE(fs::exists(input("in_1")));
    db_.execute(Sql("UPDATE workunit SET file_delete_state=1 WHERE id=2"));
    ASSERT_EQ(run_program({"file_deleter", "--one_pass"}).status, 0);
    EXPECT_FALSE(fs::exists(input("shared")));
}

// The first job of a group makes the tables; file_deleter ran before, and knew of none until it was started anew.
TEST_F(Files, FileGroupsMayComeWhileItRuns) {
    db_.execute(Sql("DROP TABLE IF EXISTS sluice_file_group, sluice_file_group_wu"));
    const auto in_process = make_cleaning_store(db_);
    EXPECT_THAT(in_process->files_in_use({"shared"}), testing::IsEmpty());
    prepare_file_groups(db_);
    workunit(1, kInit), add_to_group("shared", 1);
    store();
    EXPECT_THAT(in_process->files_in_use({"shared"}), testing::ElementsAre("shared"));
}

// What becomes of a row between the question for it and its deletion.
TEST_F(Files, RowsThatAreLiveAgainKeepTheirFiles) {
    prepare_file_groups(db_);
    workunit(1, kReady), workunit(2, kReady), result(10, 1, kReady), result(11, 1, kReady);
    for (Id id : {1, 2}) rows_.workunits.at(id).xml_doc += file_info("shared");
    workunit(3, kInit).xml_doc = file_info("shared");
    write(input("shared"));
    store();
    Database other(settings());
    const auto judge = [&](const std::string& text, int) {
        if (text.find("FROM workunit FORCE") != text.npos) {
            other.execute(Sql("UPDATE workunit SET file_delete_state=0 WHERE id=1"));
            other.execute(Sql("INSERT INTO sluice_file_group VALUES (1, 'shared', 0)"));
            other.execute(Sql("INSERT INTO sluice_file_group_wu VALUES (1, 3)"));
        }
        if (text.find("FROM result FORCE") != text.npos)
            other.execute(Sql("UPDATE result SET file_delete_state=0 WHERE id=10"));
        return SqlProxy::Action::kPass;
    };
    Through through({program("file_deleter"), "--one_pass"}, project_.path(), judge);
    const RunResult r = through.program.wait().value();
    ASSERT_EQ(r.status, 0) << r.err;
    for (const auto& there : {input("in_1"), input("shared"), output("out_10")})
        EXPECT_TRUE(fs::exists(there)) << there;
    for (const auto& gone : {input("in_2"), output("out_11")}) EXPECT_FALSE(fs::exists(gone)) << gone;
    EXPECT_EQ(states(FilesOf::kWorkunit), (std::map<Id, int>{{1, 0}, {2, 2}, {3, 0}}));
    EXPECT_EQ(states(FilesOf::kResult), (std::map<Id, int>{{10, 0}, {11, 2}}));
}

/// Deletes in this process, by a clock of the test.
class Retries : public CleaningWorld {
  protected:
    FileDeleter deleter() {
        return {{.filter = {}}, FileTree(upload(), kFanout), FileTree(download(), kFanout), *store_, clock_};
    }
    static constexpr const char* kFailed = "file deletion failed";
    FakeClock clock_{1e9};
    std::unique_ptr<CleaningStore> store_ = make_cleaning_store(db_);
};

TEST_F(Retries, ATreeDeletesNoFileBelowALink) {
    const fs::path outside = project_ / "outside";
    fs::create_directory(outside);
    write_file_atomically(outside / "keep", "");
    fs::create_directory_symlink(outside, upload() / "link");
    for (const int fanout : {0, kFanout})
        EXPECT_EQ(FileTree(upload(), fanout).remove("link/keep").what, FileTree::Removed::kFailed) << fanout;
    EXPECT_TRUE(fs::exists(outside / "keep"));
    write_file_atomically(upload() / "flat", "");
    EXPECT_EQ(FileTree(upload(), 0).remove("flat").what, FileTree::Removed::kYes);
    EXPECT_FALSE(fs::exists(upload() / "flat"));
}

// A folder in a file's place can't be unlinked, not by root either.
TEST_F(Retries, ComeLaterAndKeepNoOtherWaiting) {
    result(10, 1, kReady), result(11, 1, kReady), result(12, 1, kInit);
    fs::remove(output("out_10")), fs::create_directory(output("out_10"));
    store();
    FileDeleter deleter = this->deleter();
    const auto times_said = [&] {
        testing::internal::CaptureStderr();
        deleter.turn();
        const std::string text = testing::internal::GetCapturedStderr();
        int times = 0;
        for (auto at = text.find(kFailed); at != text.npos; at = text.find(kFailed, at + 1)) ++times;
        return times;
    };
    EXPECT_EQ(times_said(), 2) << "the first turn finds everything due";
    EXPECT_FALSE(fs::exists(output("out_11"))) << "the other row is done";
    std::vector<int> hours;
    for (int hour = 1; hour <= 60; ++hour) {
        clock_.advance(3600);
        if (times_said() > 0) hours.push_back(hour);
    }
    EXPECT_THAT(hours, testing::ElementsAre(1, 3, 7, 15, 31, 55));
    // Another one that fails is new trouble.
    fs::remove(output("out_12")), fs::create_directory(output("out_12"));
    db_.execute(Sql("UPDATE result SET file_delete_state=1 WHERE id=12"));
    EXPECT_EQ(times_said(), 1);
    clock_.advance(3600);
    EXPECT_EQ(times_said(), 2);
    // Its folder is mended: all is deleted with the next try.
    fs::remove(output("out_10")), write(output("out_10")), fs::remove(output("out_12"));
    clock_.advance(7200);
    EXPECT_EQ(times_said(), 0);
    EXPECT_EQ(states(FilesOf::kResult), (std::map<Id, int>{{10, 2}, {11, 2}, {12, 2}}));
}

// Somebody's open transaction.
TEST_F(Retries, LockedRowKeepsNoOtherWaiting) {
    workunit(1, kReady), result(10, 1, kReady), result(11, 1, kReady);
    store();
    DbSettings hasty = settings();
    hasty.turn_comes_again = true;
    Database own(hasty);
    store_ = make_cleaning_store(own);
    FileDeleter deleter = this->deleter();
    db_.transaction([&] {
        db_.query(Sql("SELECT id FROM result WHERE id=10 FOR UPDATE"));
        deleter.turn();
    });
    EXPECT_EQ(states(FilesOf::kResult), (std::map<Id, int>{{10, 1}, {11, 2}}));
    EXPECT_EQ(states(FilesOf::kWorkunit), (std::map<Id, int>{{1, 2}}));
    EXPECT_TRUE(fs::exists(output("out_10")));
    deleter.turn();
    EXPECT_EQ(states(FilesOf::kResult), (std::map<Id, int>{{10, 2}, {11, 2}}));
}

/// Rows in all states at random; which of their files may go, by the rule written a second time.
class RandomFiles : public CleaningWorld {
  protected:
    void make(unsigned seed, Id workunits = 30) {
        std::mt19937 random(seed);
        const auto draw = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
        truncate_all_tables(db_);
        rows_.workunits.clear(), rows_.results.clear(), kept_.clear(), gone_.clear();
        for (Id id = 1; id <= workunits; ++id) {
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

// In place of each unlink, until a run needs no more of them.
TEST_F(RandomFiles, AKillAtAnyUnlinkLosesNothing) {
    int unlinks = 0;
    for (bool killed = true; killed && unlinks < 100; ++unlinks) {
        make(5, 8);
        RunOptions options;
        options.env["LD_PRELOAD"] = binary_dir() + "/tests/killed_at_unlink.so";
        options.env["SLUICE_TEST_UNLINK"] = std::to_string(unlinks + 1);
        killed = run_program({"file_deleter", "--one_pass"}, options).signal == SIGKILL;
        check("killed", !killed);
        ASSERT_EQ(run_program({"file_deleter", "--one_pass"}).status, 0);
        check("killed at unlink " + std::to_string(unlinks + 1), true);
    }
    EXPECT_GE(unlinks, 10);
    EXPECT_LT(unlinks, 100);
}

/// Of five workunits of a file group two are released; jobs are added to the group, and a released one is made anew, as
/// create_work does it: it asks under its locks whether the files are there, and else writes nothing.
class Revived : public CleaningWorld {
  protected:
    Revived() { prepare_file_groups(db_); }
    void make() {
        truncate_all_tables(db_);
        db_.execute(Sql("DELETE FROM sluice_file_group")), db_.execute(Sql("DELETE FROM sluice_file_group_wu"));
        rows_.workunits.clear(), rows_.results.clear(), rows_.file_groups.clear(), rows_.group_workunits.clear();
        for (Id id = 1; id <= 2; ++id) {
            workunit(id, kReady).xml_doc += file_info("shared");
            add_to_group("shared", id);
        }
        write(input("shared"));
        store();
    }
    /// What create_work does with a job of the group, and with --wu_id 2. Whoever comes too late is told so.
    void revive() {
        Database other(settings());
        const auto store = make_work_store(other);
        const auto tell = [](const fs::path& file) {
            if (!fs::exists(file)) throw FileError("it is gone");
        };
        Workunit w = rows_.workunits.at(2);
        JobRows rows{{}, "shared", [&] { tell(input("shared")); }};
        w.id = 0, w.name = "new", w.file_delete_state = kInit, w.xml_doc = file_info("shared");
        try {
            store->insert({&w, 1}, {&rows, 1});
        } catch (const FileError&) {
        }
        w = rows_.workunits.at(2);
        rows.check_files = [&] { tell(input("shared")), tell(input("in_2")); };
        try {
            store->update(w, rows);
        } catch (const FileError&) {
        }
    }
    /// How many rows are live; each of them has its files.
    int expect_live_files(const std::string& when) {
        int live = 0;
        for (const auto& row : rows_of(db_, Sql("SELECT name, xml_doc FROM workunit WHERE file_delete_state=0"), 2)) {
            ++live;
            for (const std::string& name : deletable_files(row[1]).names)
                EXPECT_TRUE(fs::exists(input(name))) << when << ": " << row[0] << " has no " << name;
        }
        return live;
    }
};

TEST_F(Revived, AtAnyStatementOfFileDeleter) {
    const std::vector<std::string> words{program("file_deleter"), "--one_pass"};
    make();
    RunResult whole;
    const std::vector<std::string> texts = statements_of(words, project_.path(), whole);
    ASSERT_EQ(whole.status, 0) << whole.err;
    ASSERT_FALSE(fs::exists(input("shared")));
    std::set<int> alive;
    for (int at = 1; at <= static_cast<int>(texts.size()); ++at) {
        make();
        std::thread reviver;
        std::atomic<bool> over{false};
        {
            Through through(words, project_.path(), [&](const std::string&, int number) {
                if (number != at) return SqlProxy::Action::kPass;
                reviver = std::thread([&] { revive(), over = true; });
                eventually([&] { return over.load(); }, 0.1);  // else it waits for file_deleter's locks
                return SqlProxy::Action::kPass;
            });
            const auto r = through.program.wait();
            ASSERT_TRUE(r && r->status == 0) << r->err;
        }
        if (reviver.joinable()) reviver.join();
        alive.insert(expect_live_files("at " + texts[static_cast<std::size_t>(at) - 1].substr(0, 80)));
    }
    EXPECT_THAT(alive, testing::AllOf(testing::Contains(2), testing::Contains(0))) << "both come first at times";
}

// After all questions: now only its locks keep others away.
TEST_F(Revived, AtAnyUnlinkOfFileDeleter) {
    int unlinks = 0;
    for (bool stopped = true; stopped && unlinks < 20; ++unlinks) {
        make();
        RunOptions options;
        options.env = {{"BOINC_PROJECT_DIR", project_.path().string()},
                       {"LD_PRELOAD", binary_dir() + "/tests/killed_at_unlink.so"},
                       {"SLUICE_TEST_UNLINK", std::to_string(unlinks + 1)},
                       {"SLUICE_TEST_STOP", "1"}};
        Subprocess deleter({program("file_deleter"), "--one_pass"}, options);
        const std::string stat = "/proc/" + std::to_string(deleter.pid()) + "/stat";
        const auto is_in = [&](const char* state) {
            return read_file(stat).value_or("").find(std::string(") ") + state) != std::string::npos;
        };
        ASSERT_TRUE(eventually([&] { return is_in("T") || is_in("Z"); }));
        stopped = is_in("T");
        std::atomic<bool> over{false};
        std::thread reviver([&] { revive(), over = true; });
        eventually([&] { return over.load(); }, 0.2);
        deleter.send_signal(SIGCONT);
        EXPECT_EQ(deleter.wait().value().status, 0);
        reviver.join();
        expect_live_files("stopped before unlink " + std::to_string(unlinks + 1));
    }
    EXPECT_GE(unlinks, 4) << "in_1, shared, in_2, and one that stops nowhere";
    EXPECT_LT(unlinks, 20);
}

// create_work says what to do.
TEST_F(Revived, CreateWorkAsksForFilesUnderItsLocks) {
    make();
    project_.write("templates/one_in",
                   "<file_info></file_info><workunit><file_ref><open_name>in</open_name></file_ref></workunit>");
    project_.write("templates/one_out", "<file_info><name><OUTFILE_0/></name></file_info><result></result>");
    const std::vector<std::string> words{program("create_work"), "--appname", "one", "--wu_id", "2", "in_2"};
    const auto judge = [&](const std::string& text, int) {
        if (text.find("UPDATE workunit") != text.npos) fs::remove(input("in_2"));  // file_deleter was there before
        return SqlProxy::Action::kPass;
    };
    Through through(words, project_.path(), judge);
    const RunResult r = through.program.wait().value();
    EXPECT_EQ(r.status, 1);
    EXPECT_THAT(r.err, HasSubstr("input file in_2 is not in the download hierarchy"));
    EXPECT_EQ(states(FilesOf::kWorkunit).at(2), 1) << "it is not live";
}

}  // namespace
}  // namespace sluice::test
