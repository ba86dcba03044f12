// SPDX-License-Identifier: LGPL-3.0-or-later
// The assimilators on the same rows as upstream's: app odd_app, 15 workunits, two of which failed.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "sluice/base/files.h"
#include "tests/db/golden/golden_rows.h"
#include "tests/support/database_rows.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

constexpr int kHashFolders = 64;

class GoldenAssimilators : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        Database db(made() = load_golden_rows("golden_assimilators"));
        db.execute(Sql("CREATE TABLE workunit_was SELECT * FROM workunit"));
    }
    static DbSettings& made() {
        static DbSettings settings;
        return settings;
    }
    GoldenAssimilators() : db_(made()) {
        db_.execute(Sql("REPLACE INTO workunit SELECT * FROM workunit_was"));
        project_.write("config.xml",
                       "<boinc><config>" + PrivateMariaDb::shared().config_elements("golden_assimilators") +
                           "<upload_dir>" + (project_ / "upload").string() + "</upload_dir><uldl_dir_fanout>" +
                           std::to_string(kHashFolders) + "</uldl_dir_fanout></config></boinc>");
        const Sql documents(
            "SELECT r.xml_doc_in, r.name FROM result r JOIN workunit w ON w.canonical_resultid=r.id WHERE w.appid=4 AND "
            "w.assimilate_state=1 ORDER BY r.id");
        for (const auto& row : rows_of(db_, documents, 2)) write_outputs(row[0]);
        db_.execute(Sql("UPDATE result SET received_time=UNIX_TIMESTAMP()+1"));
    }
    /// Each file holds its own name.
    void write_outputs(const std::string& document) {
        for (auto at = document.find("<file_name>"); at != std::string::npos;
             at = document.find("<file_name>", at + 1)) {
            const std::string name = document.substr(at + 11, document.find('<', at + 11) - at - 11);
            const fs::path path = fanout_path(project_ / "upload", name, kHashFolders);
            fs::create_directories(path.parent_path());
            std::ofstream(path) << name;
            ++written_;
        }
    }
    RunResult assimilate(std::vector<std::string> args) {
        args[0] = std::string(SLUICE_BIN) + "/" + args[0];
        args.insert(args.end(), {"--app", "odd_app", "--one_pass"});
        RunOptions options;
        options.env["BOINC_PROJECT_DIR"] = project_.path().string();
        options.cwd = project_.path();
        return run(args, options);
    }
    std::map<std::string, std::string> files(const fs::path& folder) const {
        std::map<std::string, std::string> found;
        if (!fs::exists(folder)) return found;
        for (const auto& entry : fs::recursive_directory_iterator(folder))
            if (entry.is_regular_file())
                found[fs::relative(entry.path(), folder).string()] = read_file(entry.path()).value_or("");
        return found;
    }
    std::int64_t ready() {
        return number_of(db_, Sql("SELECT COUNT(*) FROM workunit WHERE appid=4 AND assimilate_state=1"));
    }

    TempDir project_;
    Database db_;
    std::size_t written_ = 0;
};

TEST_F(GoldenAssimilators, CollectedFilesAreUpstreams) {
    ASSERT_EQ(ready(), 15);
    const RunResult r = assimilate({"batch_collect_assimilator"});
    EXPECT_EQ(r.status, 0) << r.err;
    std::vector<std::string> names;
    for (const auto& [name, text] : files(project_ / "results")) names.push_back(name);
    EXPECT_EQ(names, (std::vector<std::string>{"3/odd_app_123__file_out",        "3/odd_app_163__file_data & more",
                                               "3/odd_app_163__file_out",        "3/odd_app_203_nodelete_error",
                                               "3/odd_app_243__file_out",        "3/odd_app_283__file_data & more",
                                               "3/odd_app_283__file_out",        "3/odd_app_3__file_out",
                                               "3/odd_app_43__file_data & more", "3/odd_app_43__file_out",
                                               "3/odd_app_83__file_out",         "7/odd_app_103__file_data & more",
                                               "7/odd_app_103__file_out",        "7/odd_app_143__file_out",
                                               "7/odd_app_183__file_out",        "7/odd_app_223__file_data & more",
                                               "7/odd_app_223__file_out",        "7/odd_app_23__file_out",
                                               "7/odd_app_263__file_out",        "7/odd_app_63_error"}));
    EXPECT_EQ(files(project_ / "results")["7/odd_app_63_error"], "0x2\n");
    EXPECT_TRUE(files(project_ / "results")["3/odd_app_3__file_out"].starts_with("odd_app_3_0_r"));
    EXPECT_EQ(files(project_ / "upload").size(), written_) << "late results are compared with them";
    EXPECT_EQ(ready(), 0);
    EXPECT_EQ(assimilate({"batch_collect_assimilator"}).status, 0);
}

TEST_F(GoldenAssimilators, LostFilesAreSaidToBeMissing) {
    for (const auto& entry : fs::recursive_directory_iterator(project_ / "upload"))
        if (entry.path().filename().string().starts_with("odd_app_3_")) fs::remove(entry.path());
    EXPECT_EQ(assimilate({"batch_collect_assimilator", "--outdir", (project_ / "out").string()}).status, 0);
    const auto collected = files(project_ / "out");
    EXPECT_TRUE(collected.contains("3/odd_app_3_no_output_files"));
    EXPECT_EQ(collected.size(), 20U);
    EXPECT_EQ(ready(), 0);
}

TEST_F(GoldenAssimilators, SampleKeepsFilesAndErrors) {
    EXPECT_EQ(assimilate({"sample_assimilator"}).status, 0);
    auto made_files = files(project_ / "sample_results");
    EXPECT_TRUE(made_files.contains("odd_app_3"));
    EXPECT_TRUE(made_files.contains("odd_app_43_0") && made_files.contains("odd_app_43_1"));
    EXPECT_EQ(made_files["errors"], "odd_app_63: 0x2\nodd_app_203_nodelete: 0x2\n");
}

// Those that a killed one had stored, and not marked.
TEST_F(GoldenAssimilators, SampleNotesAnErrorOnce) {
    for (int i = 0; i < 2; ++i) EXPECT_EQ(assimilate({"sample_assimilator", "--dont_update_db"}).status, 0);
    EXPECT_EQ(files(project_ / "sample_results")["errors"], "odd_app_63: 0x2\nodd_app_203_nodelete: 0x2\n");
}

TEST_F(GoldenAssimilators, DummySaysWhatCameIn) {
    const RunResult r = assimilate({"sample_dummy_assimilator", "--dont_update_db"});
    for (const char* line :
         {"Assimilating odd_app_3\n", "Found canonical result\n", "[odd_app_63] No canonical result\n",
          "[warning] [odd_app_63] Warning: too many error results\n"})
        EXPECT_NE(r.err.find(line), std::string::npos) << r.err;
    EXPECT_EQ(ready(), 15);
}

TEST_F(GoldenAssimilators, SingleJobGoesBackToItsFolder) {
    const fs::path job = project_ / "job";
    fs::create_directories(job);
    for (const int wu : {43, 63}) {
        const fs::path note = fanout_path(project_ / "upload", "sj_" + std::to_string(wu), kHashFolders);
        fs::create_directories(note.parent_path());
        std::ofstream(note) << "<job_dir>" << job.string() << "</job_dir>\n";
        project_.write("templates/sj_wu_template_" + std::to_string(wu), "");
    }
    EXPECT_EQ(assimilate({"single_job_assimilator"}).status, 0);
    auto made_files = files(job);
    EXPECT_EQ(made_files.size(), 4U);
    EXPECT_TRUE(made_files["out"].starts_with("odd_app_43_0_r"));
    EXPECT_TRUE(made_files.contains("data & more"));
    EXPECT_TRUE(made_files["job_summary_43"].starts_with("Job was completed by host ")) << made_files["job_summary_43"];
    EXPECT_EQ(made_files["job_summary_63"], "The job was not successfully completed.\nError: 0x2\n");
    EXPECT_TRUE(fs::is_empty(project_ / "templates"));
    EXPECT_EQ(ready(), 0) << "jobs of other kinds are done, too";
}

TEST_F(GoldenAssimilators, OnePassWithFailureSaysSo) {
    project_.write("bin/take", "#!/bin/sh\n[ $1 != odd_app_43 ] || exit 5\n");
    fs::permissions(project_ / "bin/take", fs::perms::owner_all);
    const RunResult r = assimilate({"script_assimilator", "--script", "take wu_name"});
    EXPECT_EQ(r.status, 1);
    EXPECT_EQ(ready(), 1);
    EXPECT_NE(r.err.find("[WU#43 odd_app_43] take returned 5; called again in "), std::string::npos) << r.err;
}

}  // namespace
}  // namespace sluice::test
