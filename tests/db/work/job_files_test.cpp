// SPDX-License-Identifier: LGPL-3.0-or-later
// dir_hier_path, dir_hier_move and wu_check: where input files belong, how they get there, and what is missing.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "tests/db/work/work_chain.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;

class JobFiles : public WorkChain {
  protected:
    fs::path placed(const std::string& name) const { return fanout_path(project_ / "download", name, 1024); }
    std::string text(const fs::path& file) const { return read_file(file).value_or("(none)"); }
    /// A workunit with these input files, and a result in that state.
    void job(Id id, int state, const std::vector<std::string>& files, const std::string& url = "http://h/download") {
        std::string doc;
        for (const std::string& file : files)
            doc += "<file_info>\n<name>" + file + "</name>\n<url>" + url + "/x/" + file + "</url>\n</file_info>\n";
        Sql sql(
            "INSERT INTO workunit (id, create_time, appid, name, xml_doc, batch, rsc_fpops_est, rsc_fpops_bound, "
            "rsc_memory_bound, rsc_disk_bound, need_validate, canonical_resultid, canonical_credit, transition_time, "
            "delay_bound, error_mask, file_delete_state, assimilate_state, hr_class, opaque, min_quorum, "
            "target_nresults, max_error_results, max_total_results, max_success_results, result_template_file, "
            "priority, rsc_bandwidth_bound, fileset_id, app_version_id, transitioner_flags, size_class, keywords, "
            "app_version_num) VALUES (");
        sql << id << ",0,1," << SqlText{"w" + std::to_string(id)} << "," << SqlBlob{doc}
            << ",0,1e12,1e13,1e8,1e8,0,0,0,2000000000,86400,0,0,0,0,0,1,1,3,3,3,'',0,0,0,0,0,-1,'',0)";
        db_.execute(sql);
        insert_result(id * 10, id, 0, state, 0, "");
    }
    std::vector<std::vector<std::string>> states() {
        return rows_of(db_,
                       Sql("SELECT r.id, r.server_state, r.outcome, w.transition_time<2000000000 FROM result r "
                           "JOIN workunit w ON w.id=r.workunitid ORDER BY r.id"),
                       4);
    }
};

TEST_F(JobFiles, PathIsSaidAndFolderMade) {
    const RunResult r = run_program({"dir_hier_path", "foo"});
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(r.out, (project_ / "download/db/foo").string() + "\n");
    EXPECT_TRUE(fs::is_directory(project_ / "download/db"));
    struct stat info {};
    ASSERT_EQ(::stat((project_ / "download/db").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0755U, 0755U) << "the web server reads it";
    EXPECT_EQ(run_program({"dir_hier_path", "foo"}).out, r.out);
}

TEST_F(JobFiles, PathOfNoFileNameIsRefused) {
    for (const auto& words : std::vector<std::vector<std::string>>{
             {"dir_hier_path"}, {"dir_hier_path", "a", "b"}, {"dir_hier_path", "../x"}, {"dir_hier_path", "a/b"}}) {
        const RunResult r = run_program(words);
        EXPECT_EQ(r.status, 1) << words.back();
        EXPECT_EQ(r.out, "");
    }
    fs::remove_all(project_ / "download");
    EXPECT_EQ(run_program({"dir_hier_path", "foo"}).status, 1) << "a folder that is not mounted is not made";
    EXPECT_FALSE(fs::exists(project_ / "download"));
}

TEST_F(JobFiles, FilesMoveWithWhatLiesBesideThem) {
    for (const char* name : {"foo", "foo.md5", "foo.gz", "alone.gz", ".hidden", "folder/inside"})
        project_.write(fs::path("old") / name, name);
    const RunResult r = run_program({"dir_hier_move", "old", "download", "1024"});
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(r.out, "4 files moved\n");
    for (const char* name : {"foo", "foo.md5", "foo.gz"}) EXPECT_EQ(text(placed("foo").parent_path() / name), name);
    EXPECT_EQ(text(placed("alone.gz")), "alone.gz");
    EXPECT_TRUE(fs::exists(project_ / "old/.hidden"));
    EXPECT_TRUE(fs::exists(project_ / "old/folder/inside"));
    EXPECT_EQ(run_program({"dir_hier_move", "old", "download", "1024"}).out, "0 files moved\n");
}

TEST_F(JobFiles, FilesMoveIntoFoldersOfTheirOwnFolder) {
    for (const char* name : {"a", "b", "c"}) project_.write(fs::path("download") / name, name);
    EXPECT_EQ(run_program({"dir_hier_move", "download", "download", "1024"}).out, "3 files moved\n");
    for (const char* name : {"a", "b", "c"}) EXPECT_EQ(text(placed(name)), name);
}

TEST_F(JobFiles, NoMoveOverwritesAFile) {
    project_.write("old/foo", "new");
    project_.write("download/db/foo", "kept");
    const RunResult r = run_program({"dir_hier_move", "old", "download", "1024"});
    EXPECT_EQ(r.status, 1);
    EXPECT_THAT(r.err, HasSubstr("a file is there already"));
    EXPECT_EQ(text(project_ / "download/db/foo"), "kept");
    EXPECT_EQ(text(project_ / "old/foo"), "new");
    for (const auto& words : std::vector<std::vector<std::string>>{{"dir_hier_move", "old", "download"},
                                                                   {"dir_hier_move", "old", "download", "0"},
                                                                   {"dir_hier_move", "old", "download", "7x"},
                                                                   {"dir_hier_move", "none", "download", "7"},
                                                                   {"dir_hier_move", "old", "none", "7"}})
        EXPECT_EQ(run_program(words).status, 1) << words[1];
}

TEST_F(JobFiles, CheckListsJobsWithoutFiles) {
    for (const char* name : {"in1", "in2"}) stage(name);
    job(1, 2, {"in1", "in2"});
    job(2, 2, {"in1", "gone"});
    job(3, 4, {"lost"});
    job(4, 4, {"in2"});
    job(5, 2, {"elsewhere"}, "http://other/files");
    job(6, 5, {"over"});
    const RunResult r = run_program({"wu_check"});
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(r.out, "Unsent results:\nno file " + placed("gone").string() + " for result 20\n1 out of 3 errors\n" +
                         "In progress results:\nno file " + placed("lost").string() +
                         " for result 30\n1 out of 2 errors\n");
    for (const auto& row : states()) EXPECT_EQ(row[3], "0") << "nothing is written";
}

TEST_F(JobFiles, RepairEndsUnsentJobsWithoutFiles) {
    stage("in1");
    job(1, 2, {"in1"});
    job(2, 2, {"gone"});
    job(3, 4, {"gone"});
    const RunResult r = run_program({"wu_check", "--repair"});
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_THAT(r.out, HasSubstr("1 out of 2 errors\n1 results ended\n"));
    EXPECT_EQ(states(), (Table{{"10", "2", "0", "0"}, {"20", "5", "2", "1"}, {"30", "4", "0", "0"}}));
    EXPECT_THAT(run_program({"wu_check", "--repair"}).out, HasSubstr("0 out of 1 errors\nIn progress"));
}

TEST_F(JobFiles, RepairOfAnEmptyFolderIsRefused) {
    job(1, 2, {"in1"});
    const RunResult r = run_program({"wu_check", "--repair"});
    EXPECT_EQ(r.status, 1);
    EXPECT_THAT(r.err, HasSubstr("is a file system not mounted?"));
    EXPECT_EQ(states()[0][1], "2");
    EXPECT_THAT(run_program({"wu_check"}).out, HasSubstr("1 out of 1 errors"));
}

}  // namespace
}  // namespace sluice::test
