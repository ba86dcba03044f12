// SPDX-License-Identifier: LGPL-3.0-or-later
// stage_file publishes what was meant, and says what.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/support/paths.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class StageFile : public testing::Test {
  protected:
    StageFile() {
        project_.write("config.xml",
                       "<boinc><config><download_url>http://h/download</download_url>"
                       "<uldl_dir_fanout>1024</uldl_dir_fanout></config></boinc>");
        fs::create_directories(project_ / "download");
    }
    RunResult stage(std::vector<std::string> words, const fs::path& cwd) {
        words.insert(words.begin(), binary_dir() + "/bin/stage_file");
        RunOptions options;
        options.cwd = cwd;
        options.env["BOINC_PROJECT_DIR"] = project_.path().string();
        return run(words, options);
    }
    bool published(const std::string& hash_and_name) const { return fs::exists(project_ / "download" / hash_and_name); }
    TempDir project_, elsewhere_;
};

TEST_F(StageFile, SaysWhatWasPublishedWhere) {
    project_.write("foo", "hello\n");
    const RunResult result = stage({"foo"}, project_.path());
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.out, "published foo as http://h/download/db/foo\n");  // foo -> db at fan-out 1024
    EXPECT_TRUE(published("db/foo"));
    EXPECT_FALSE(fs::exists(project_ / "foo"));
    EXPECT_EQ(stage({"foo"}, project_.path()).err, "stage_file: there is no file foo\n") << "it was moved";
}

TEST_F(StageFile, FolderUrlAndFanOutFollowTheConfiguration) {
    for (const auto& [fan_out, folder] : std::map<std::string, std::string>{{"1024", "db"}, {"16", "b"}}) {
        const fs::path downloads = elsewhere_ / ("of_" + fan_out);
        fs::create_directories(downloads);
        project_.write("config.xml", "<boinc><config><download_url>http://" + fan_out +
                                         "</download_url><download_dir>" + downloads.string() +
                                         "</download_dir><uldl_dir_fanout>" + fan_out +
                                         "</uldl_dir_fanout></config></boinc>");
        project_.write("foo", "hello\n");
        const RunResult result = stage({"foo"}, project_.path());
        EXPECT_EQ(result.out, "published foo as http://" + fan_out + "/" + folder + "/foo\n") << result.err;
        EXPECT_TRUE(fs::exists(downloads / folder / "foo")) << fan_out;
    }
}

TEST_F(StageFile, FileThatIsNotThereIsCalledSo) {
    for (const char* name : {"nofile", "./nofile", "no/such/nofile"}) {
        const RunResult result = stage({name}, project_.path());
        EXPECT_EQ(result.status, 1);
        EXPECT_THAT(result.err, AllOf(HasSubstr("nofile"), testing::Not(HasSubstr("lies outside")))) << name;
    }
}

// `stage_file /etc/passwd` published it, and said nothing.
TEST_F(StageFile, FileFromElsewhereNeedsWordOfConsent) {
    const fs::path foo = elsewhere_.write("foo", "secret\n");
    project_.write("fine", "x");
    const RunResult refused = stage({"fine", foo.string()}, project_.path());
    EXPECT_EQ(refused.status, 1);
    EXPECT_EQ(refused.out, "");
    EXPECT_THAT(refused.err, AllOf(HasSubstr(foo.string()), HasSubstr("--copy"), HasSubstr("--move")));
    EXPECT_TRUE(fs::is_empty(project_ / "download")) << "not even the other one: the command was a mistake";
    fs::create_symlink(foo, project_ / "link");
    EXPECT_EQ(stage({"link"}, project_.path()).status, 1);
    EXPECT_EQ(stage({elsewhere_.path().string()}, project_.path()).status, 1);
    EXPECT_EQ(stage({foo.string()}, "/").status, 1);
    EXPECT_TRUE(fs::is_empty(project_ / "download"));

    EXPECT_EQ(stage({"--copy", foo.string()}, project_.path()).status, 0);
    EXPECT_TRUE(published("db/foo") && fs::exists(foo));
    EXPECT_EQ(stage({"--move", foo.string()}, project_.path()).status, 0);
    EXPECT_FALSE(fs::exists(foo));
}

// With BOINC_PROJECT_DIR set, `stage_file NAME` in any folder published what lay there.
TEST_F(StageFile, TheCurrentFolderMustLieInAProject) {
    elsewhere_.write("inputs/foo", "x");
    for (const char* name : {"inputs", "inputs/foo"}) {
        const RunResult result = stage({name}, elsewhere_.path());
        EXPECT_EQ(result.status, 1) << name;
        EXPECT_THAT(result.err, AllOf(HasSubstr("lies outside of the project"), HasSubstr("nothing was published")));
    }
    EXPECT_TRUE(fs::is_empty(project_ / "download"));
    EXPECT_EQ(stage({"--copy", "inputs"}, elsewhere_.path()).status, 0);
    EXPECT_TRUE(published("db/foo"));
    project_.write("inputs/foo", "x");
    EXPECT_EQ(stage({"foo"}, project_ / "inputs").status, 0);
}

TEST_F(StageFile, SecretsOfTheProjectAreNeverPublished) {
    project_.write("keys/code_sign_private", "secret");
    for (const char* secret : {"config.xml", "keys/code_sign_private", "keys", "."}) {
        const RunResult result = stage({"--copy", secret}, project_.path());
        EXPECT_EQ(result.status, 1) << secret;
        EXPECT_THAT(result.err, HasSubstr("secret of the project"));
    }
    EXPECT_TRUE(fs::is_empty(project_ / "download"));
    EXPECT_TRUE(fs::exists(project_ / "keys/code_sign_private"));
}

}  // namespace
}  // namespace sluice::test
