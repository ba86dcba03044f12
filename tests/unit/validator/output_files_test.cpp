// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/validator/output_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "tests/support/temp_dir.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

const char kDoc[] =
    "<file_info>\n<name>w_0_r1_0</name>\n</file_info>\n<result>\n"
    "<file_ref><file_name>w_0_r1_0</file_name><open_name>out</open_name></file_ref>\n"
    "<file_ref><file_name>w_0_r1_1</file_name><open_name>log</open_name><no_validate/></file_ref>\n"
    "<file_ref><file_name>w_0_r1_2</file_name><open_name>extra</open_name><optional/></file_ref>\n"
    "<file_ref><file_name>../../keys/upload_private</file_name><open_name>evil</open_name></file_ref>\n</result>";

constexpr std::int64_t kReadAt = 2000000000;

struct OutputFiles : testing::Test {
    test::TempDir dir;
    std::vector<OutputFile> files = output_files(kDoc, dir.path(), 0).files;
    void write(const std::string& name, const std::string& text) { std::ofstream(dir.path() / name) << text; }
    OutputCheck check(bool gzip = false) {
        UploadTree tree(dir.path(), kReadAt);
        return check_bitwise(files, kReadAt - 1000, tree, gzip);
    }
};

TEST_F(OutputFiles, AreReadFromTheResultsDocument) {
    ASSERT_EQ(files.size(), 3u) << "a name that leaves the upload folder is dropped";
    EXPECT_EQ(files[0].logical, "out");
    EXPECT_EQ(files[0].path, dir.path() / "w_0_r1_0");
    EXPECT_TRUE(files[1].no_validate);
    EXPECT_TRUE(files[2].optional);
}
TEST(OutputFileList, SaysWhyItMayNotBeWhole) {
    const auto problem = [](const std::string& doc) { return output_files(doc, "/upload", 0).problem; };
    const std::string file = "<file_ref><file_name>f</file_name></file_ref>";
    EXPECT_EQ(problem("<file_info><name>f</name></file_info>\n<result>\n" + file + "\n</result>\n"), "");
    EXPECT_EQ(problem("<result>\n</result>\n"), "") << "a job without output files";
    EXPECT_EQ(problem(""), "result.xml_doc_in: it is empty");
    EXPECT_EQ(problem("<result>" + file), "result.xml_doc_in: it ends without </result> (53 bytes)");
    EXPECT_EQ(problem("<result>" + file + "<file_ref><file_na"),
              "result.xml_doc_in: it ends without </result> (71 bytes)");
    EXPECT_EQ(problem(file), "result.xml_doc_in: it has no <result> (45 bytes)");
    EXPECT_EQ(problem("<result><file_ref><open_name>out</open_name></file_ref></result>"),
              "result.xml_doc_in: '' is no name of an output file");
    EXPECT_EQ(problem(kDoc), "result.xml_doc_in: '../../keys/upload_private' is no name of an output file");
}
TEST(OutputFileList, AnUnattendedProblemEndsInAnError) {
    constexpr std::int64_t kDay = 86400, kLongAgo = kReadAt - kLongOutage - 1;
    const OutputCheck waits = check_without_files("cut", kLongAgo + 1, 0, kReadAt);
    EXPECT_EQ(waits.kind, OutputCheck::Kind::kTransient);
    EXPECT_EQ(waits.why, "cut");
    EXPECT_EQ(check_without_files("cut", kLongAgo, kReadAt - kDay, kReadAt).kind, OutputCheck::Kind::kTransient)
        << "just found";
    const OutputCheck given_up = check_without_files("cut", kLongAgo, kReadAt - kDay - 1, kReadAt);
    EXPECT_EQ(given_up.kind, OutputCheck::Kind::kError);
    EXPECT_EQ(given_up.why, "cut, and nobody has corrected it");
    EXPECT_EQ(given_up.missing, "") << "no file of it is known to be missing";
    EXPECT_EQ(given_up.files, OutputCheck::Files::kMissing) << "for the brake";
}
TEST_F(OutputFiles, KeysAgreeExactlyWhenTheValidatedFilesDo) {
    write("w_0_r1_0", "same");
    write("w_0_r1_1", "not compared");
    const auto a = check();
    write("w_0_r1_1", "other");
    EXPECT_EQ(a.key, check().key);
    write("w_0_r1_2", "now there");
    EXPECT_NE(a.key, check().key);
    write("w_0_r1_0", "Same");
    EXPECT_NE(a.key, check().key);
}
TEST_F(OutputFiles, OneMissingFileIsAnErrorUnlessOptional) {
    write("of_somebody_else", "x");
    EXPECT_EQ(check().kind, OutputCheck::Kind::kError);
    EXPECT_EQ(check().why, (dir / "w_0_r1_0").string() + ": No such file or directory");
    write("w_0_r1_0", "there");
    EXPECT_EQ(check().kind, OutputCheck::Kind::kGood);
    EXPECT_NE(check().key.find("extra=none"), std::string::npos) << check().key;
}
TEST_F(OutputFiles, WithoutAFolderAnOptionalFileIsNone) {
    files = output_files(kDoc, dir.path(), 1024).files;
    fs::create_directories(files[0].path.parent_path());
    write(fs::relative(files[0].path, dir.path()).string(), "there");
    ASSERT_FALSE(fs::exists(files[2].path.parent_path()));
    EXPECT_EQ(check().kind, OutputCheck::Kind::kGood);
}
TEST_F(OutputFiles, PlantedLinksAndPipesAreNotRead) {
    write("w_0_r1_0", "uploaded");
    ASSERT_EQ(check().kind, OutputCheck::Kind::kGood);
    write("secret", "of the project");
    for (const bool gzip : {false, true}) {
        fs::remove(dir / "w_0_r1_0");
        fs::create_symlink(dir / "secret", dir / "w_0_r1_0");
        EXPECT_EQ(check(gzip).kind, OutputCheck::Kind::kTransient);
        EXPECT_EQ(check(gzip).why, (dir / "w_0_r1_0").string() + ": it is a link or a pipe, no file that was uploaded");
        fs::remove(dir / "w_0_r1_0");
        ASSERT_EQ(::mkfifo((dir / "w_0_r1_0").c_str(), 0666), 0);
        EXPECT_EQ(check(gzip).kind, OutputCheck::Kind::kTransient) << "without waiting";
        EXPECT_EQ(check(gzip).why, (dir / "w_0_r1_0").string() + ": it is a link or a pipe, no file that was uploaded");
    }
}
TEST_F(OutputFiles, GzipTimeStampsDoNotCount) {
    const std::string body(30, 'x');
    write("w_0_r1_0", std::string("\x1f\x8b\x08\x01"
                                  "1111"
                                  "\x01\x03",
                                  10) +
                          body);
    const auto a = check(true);
    write("w_0_r1_0", std::string("\x1f\x8b\x08\x01"
                                  "2222"
                                  "\x01\x03",
                                  10) +
                          body);
    EXPECT_EQ(a.key, check(true).key);
    EXPECT_NE(a.key, check().key);
}

}  // namespace
}  // namespace sluice
