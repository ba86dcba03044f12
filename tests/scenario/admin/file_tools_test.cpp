// SPDX-License-Identifier: LGPL-3.0-or-later
// The tools that make one text of one file, as programs: the answer goes to standard output, and what is wrong with the
// file is one line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/paths.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;

struct FileToolCase {
    const char* program;
    const char* file;
    const char* answer;  ///< a part of it
    const char* wrong;
    const char* complaint;
};
void PrintTo(const FileToolCase& c, std::ostream* out) { *out << c.program; }

class FileTool : public testing::TestWithParam<FileToolCase> {};

TEST_P(FileTool, AnswersOrSaysWhatIsWrong) {
    const FileToolCase& c = GetParam();
    const TempDir folder;
    const auto answer = [&](const char* text) {
        folder.write("file.json", text);
        return run({binary_dir() + "/bin/" + c.program, (folder / "file.json").string()}, {});
    };
    const RunResult right = answer(c.file), wrong = answer(c.wrong);
    EXPECT_EQ(right.status, 0) << right.err;
    EXPECT_THAT(right.out, HasSubstr(c.answer));
    EXPECT_EQ(wrong.status, 2) << "as --help says";
    EXPECT_EQ(wrong.out, "");
    EXPECT_THAT(wrong.err, HasSubstr(c.complaint));
    EXPECT_EQ(std::count(wrong.err.begin(), wrong.err.end(), '\n'), 1) << wrong.err;
}

TEST_P(FileTool, FailsIfItsAnswerCantBeWritten) {
    const FileToolCase& c = GetParam();
    const TempDir folder;
    folder.write("file.json", c.file);
    const RunResult r = run({"/bin/sh", "-c", "exec \"$0\" \"$1\" > /dev/full", binary_dir() + "/bin/" + c.program,
                             (folder / "file.json").string()},
                            {});
    EXPECT_EQ(r.status, 2);
    EXPECT_EQ(r.err, std::string(c.program) + ": Can't write to standard output: No space left on device\n");
}
// By hand: three jobs of 10 s one after the other; a batch of 5 s that is submitted at 10.
INSTANTIATE_TEST_SUITE_P(
    Each, FileTool,
    testing::Values(FileToolCase{"sluice_plan",
                                 R"({"hosts": [{"id": 1, "cpus": 1, "delay": 0, "job_seconds": 10}], "jobs": 3})",
                                 "\"T\": 30", R"({"hosts": [], "jobs": -1})", "jobs"},
                    FileToolCase{"sluice_share",
                                 R"({"rule": "seed", "clamp": 0, "events": [{"t": 0, "user": "ann", "quota": 1},
                                     {"t": 10, "user": "ann", "submit": {"batch": "b", "seconds": 5}}]})",
                                 "\"b\": 15", R"({"events": [{"t": 0, "user": "ann", "quota": 0}]})",
                                 "a quota must be more than 0"}),
    [](const auto& each) { return std::string(each.param.program); });

}  // namespace
}  // namespace sluice::test
