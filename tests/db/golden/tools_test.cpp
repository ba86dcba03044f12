// SPDX-License-Identifier: LGPL-3.0-or-later
// An admin's tools on the same rows and files as upstream's, and what those printed.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "sluice/base/files.h"
#include "sluice/base/hash.h"
#include "tests/db/golden/golden_rows.h"
#include "tests/support/database_rows.h"
#include "tests/support/paths.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

class GoldenTools : public testing::Test {
  protected:
    RunResult tool(std::vector<std::string> words) const {
        words[0] = binary_dir() + "/bin/" + words[0];
        RunOptions options;
        options.cwd = project_.path();
        options.unset = {"BOINC_PROJECT_DIR"};
        return run(words, options);
    }
    void config(int fanout, const std::string& more) const {
        project_.write("config.xml", "<boinc>\n<config>\n<download_dir>" + (project_ / "download").string() +
                                         "</download_dir>\n<upload_dir>" + (project_ / "upload").string() +
                                         "</upload_dir>\n<download_url>http://127.0.0.1/p/download</download_url>\n" +
                                         "<uldl_dir_fanout>" + std::to_string(fanout) + "</uldl_dir_fanout>\n" + more +
                                         "</config>\n<daemons/><tasks/>\n</boinc>\n");
    }
    /// The input files of tree.tsv.gz.
    void write_downloads() const {
        std::istringstream lines(unpacked(fs::path(source_dir()) / "tests/db/golden/tree.tsv.gz"));
        for (std::string line; std::getline(lines, line);)
            if (line.starts_with("download/")) project_.write(line.substr(0, line.find('\t')), "x");
    }
    std::string without_folder(std::string text) const {
        for (auto at = text.find(project_.path().string()); at != text.npos; at = text.find(project_.path().string()))
            text.replace(at, project_.path().string().size(), "");
        return text;
    }
    TempDir project_;
};

TEST_F(GoldenTools, PathsAreUpstreams) {
    config(1024, "");
    fs::create_directory(project_ / "download");
    for (const auto& [name, place] : {std::pair{"a", "1b9"},
                                      {"in_10", "242"},
                                      {"a b", "14d"},
                                      {"x.dat.gz", "31e"},
                                      {"\xc3\xbc"
                                       "ber",
                                       "35"}})
        EXPECT_EQ(without_folder(tool({"dir_hier_path", name}).out),
                  "/download/" + std::string(place) + "/" + name + "\n");
}

TEST_F(GoldenTools, MovedFilesLieWhereUpstreamPutsThem) {
    config(16, "");
    fs::create_directory(project_ / "download");
    for (const char* name : {"1", "2", "3", "in_10"}) project_.write(fs::path("old") / name, "x");
    EXPECT_EQ(tool({"dir_hier_move", "old", "download", "16"}).status, 0);
    for (const char* place : {"8/1", "d/2", "e/3", "2/in_10"})
        EXPECT_TRUE(fs::exists(project_ / "download" / place)) << place;
}

TEST_F(GoldenTools, ConfigIsReadAsUpstreamReadsIt) {
    config(16,
           "<long_name>A &amp; B</long_name>\n<empty></empty>\n<twice>1</twice>\n<twice>2</twice>\n"
           "<spaces>  x y  </spaces>\n<flag/>\n<host>h</host>\n");
    for (const auto& [element, text] :
         {std::pair{"long_name", "A & B"}, {"empty", ""}, {"twice", "2"}, {"spaces", "x y"}, {"host", "h"}})
        EXPECT_EQ(tool({"parse_config", element}).out, std::string(text) + "\n") << element;
    EXPECT_EQ(tool({"parse_config", "flag"}).out, "1\n") << "upstream: an empty line";
    EXPECT_EQ(tool({"parse_config", "absent"}).out, "") << "upstream: None";
}

// Three input files are gone; that of workunit 10 belongs to no job that is unsent or in progress.
TEST_F(GoldenTools, JobsWithoutFilesAreUpstreams) {
    const std::string database = "golden_tools";
    Database db(load_golden_rows(database));
    config(64, PrivateMariaDb::shared().config_elements(database));
    write_downloads();
    for (const char* name : {"in_10", "in_11", "in_20"}) fs::remove(fanout_path(project_ / "download", name, 64));
    EXPECT_EQ(without_folder(tool({"wu_check"}).out),
              "Unsent results:\nno file /download/1a/in_20 for result 39\nno file /download/1a/in_20 for result 40\n"
              "no file /download/1a/in_20 for result 41\n3 out of 30 errors\nIn progress results:\n"
              "no file /download/29/in_11 for result 21\nno file /download/29/in_11 for result 22\n"
              "no file /download/29/in_11 for result 23\n3 out of 60 errors\n");
    const Sql states("SELECT id, server_state, outcome FROM result ORDER BY id");
    auto expected = rows_of(db, states, 3);
    EXPECT_EQ(tool({"wu_check", "--repair"}).status, 0);
    for (auto& row : expected)
        if (row[0] == "39" || row[0] == "40" || row[0] == "41") row[1] = "5", row[2] = "2";
    EXPECT_EQ(rows_of(db, states, 3), expected);
}

// Two workunits, copied in turn. The only difference: upstream renamed the first input file only, so that copies
// deleted the second one of each other.
TEST_F(GoldenTools, CopiedWorkunitsAreUpstreams) {
    const std::string database = "golden_tools";
    Database db(load_golden_rows(database));
    config(64, PrivateMariaDb::shared().config_elements(database));
    db.execute(Sql("UPDATE result SET server_state=5 WHERE server_state<=2"));
    const RunResult r =
        tool({"make_work", "--wu_name", "odd_app_11", "--wu_name", "odd_app_15", "--cushion", "4", "--one_pass"});
    EXPECT_EQ(r.status, 0) << r.err;
    const auto copies = rows_of(
        db,
        Sql("SELECT appid, xml_doc, batch, rsc_fpops_est, rsc_fpops_bound, rsc_memory_bound, rsc_disk_bound, "
            "need_validate, canonical_resultid, canonical_credit, delay_bound, error_mask, file_delete_state, "
            "assimilate_state, hr_class, opaque, min_quorum, target_nresults, max_error_results, max_total_results, "
            "max_success_results, result_template_file, priority, rsc_bandwidth_bound, fileset_id, app_version_id, "
            "transitioner_flags, size_class, keywords, app_version_num, name, transition_time=create_time FROM "
            "workunit WHERE id>300 ORDER BY id"),
        32);
    ASSERT_EQ(copies.size(), 2U);
    std::string text;
    for (const auto& row : copies) {
        for (std::size_t i = 0; i < 30; ++i) text += row[i] + "\n";
        EXPECT_EQ(row.back(), "1") << "the transitioner is to see it at once";
    }
    const std::string start = copies[0][30].substr(3, copies[0][30].size() - 5);  // wu_START_0
    EXPECT_EQ(copies[1][30], "wu_" + start + "_1");
    const auto replace = [&](const std::string& what, const std::string& by) {
        for (auto at = text.find(what); at != text.npos; at = text.find(what, at + by.size()))
            text.replace(at, what.size(), by);
    };
    replace(start, "1800000000");
    replace("in2_11.dat__1800000000_0", "in2_11.dat");
    replace("--name 'x y'", "--name xy");  // upstream's program cannot copy quotes
    EXPECT_EQ(md5_hex(text), "afa76c72144b25b42b3e13e54f3df060") << text;
}

}  // namespace
}  // namespace sluice::test
