// SPDX-License-Identifier: LGPL-3.0-or-later
// sign_executable and crypt_prog: what is signed verifies, and nothing leads to a running project losing its key.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sluice/base/files.h"
#include "sluice/base/signing.h"
#include "tests/support/paths.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(SignExecutable, PrintsTheSignatureAndNamesWhatIsMissing) {
    const TempDir dir;
    const KeyPairText pair = generate_key_pair();
    const std::string program = binary_dir() + "/bin/sign_executable", file = dir.write("tiles_1", "program").string(),
                      key = dir.write("code_sign_private", pair.private_key).string();
    const RunResult done = run({program, file, key});
    EXPECT_EQ(done.status, 0) << done.err;
    EXPECT_TRUE(PublicKey::from_text(pair.public_key).verify("program", done.out));

    const RunResult no_key = run({program, file, key + "_gone"});
    EXPECT_EQ(no_key.status, 1);
    EXPECT_EQ(no_key.out, "");
    // Clients of a running project refuse what a new pair signs.
    EXPECT_THAT(no_key.err,
                AllOf(HasSubstr(key + "_gone"), HasSubstr("needs the one it had"), HasSubstr("restore it")));
    const RunResult no_file = run({program, file + "_gone", key});
    EXPECT_EQ(no_file.status, 1);
    EXPECT_THAT(no_file.err, AllOf(HasSubstr(file + "_gone"), testing::Not(HasSubstr("crypt_prog"))));
}

TEST(CryptProg, AMistakeIsOneLineThatNamesIt) {
    for (const std::vector<std::string>& words : {std::vector<std::string>{"--frobnicate"}, {"-genkey", "1024"}}) {
        std::vector<std::string> command{binary_dir() + "/bin/crypt_prog"};
        command.insert(command.end(), words.begin(), words.end());
        const RunResult wrong = run(command);
        EXPECT_EQ(wrong.status, 2);
        EXPECT_EQ(wrong.out, "");
        EXPECT_THAT(wrong.err, AllOf(HasSubstr("'" + words[0] + "'"), HasSubstr("--help")));
        EXPECT_EQ(std::ranges::count(wrong.err, '\n'), 1);
    }
}

// The key that signs programs can't be made again.
TEST(CryptProg, NoKeyIsOverwritten) {
    const TempDir dir;
    const std::string program = binary_dir() + "/bin/crypt_prog", file = (dir / "code_sign_private").string(),
                      other = (dir / "code_sign_public").string();
    const auto generate = [&](const std::string& first, const std::string& second) {
        return run({program, "-genkey", "1024", first, second});
    };
    ASSERT_EQ(generate(file, other).status, 0);
    EXPECT_EQ(run({program, "-test_crypt", file, other}).status, 0);
    const std::string before = read_file(file).value();
    for (const auto& [first, second] :
         {std::pair(file, (dir / "new").string()), std::pair((dir / "new").string(), other)}) {
        const RunResult refused = generate(first, second);
        EXPECT_EQ(refused.status, 2);
        EXPECT_THAT(refused.err, AllOf(HasSubstr(first == file ? file : other), HasSubstr("move the old pair away")));
    }
    EXPECT_EQ(read_file(file), before);
    EXPECT_FALSE(std::filesystem::exists(dir / "new")) << "no half of a pair, either";
}

}  // namespace
}  // namespace sluice::test
