// SPDX-License-Identifier: LGPL-3.0-or-later
// --version says what `git describe` says of the commit that was built.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "sluice/daemon/version.h"
#include "tests/support/paths.h"
#include "tests/support/subprocess.h"

namespace sluice::test {
namespace {

TEST(Version, ProgramsSayWhatGitDescribes) {
    std::ifstream in(binary_dir() + "/version.txt");
    std::string version, commit;
    ASSERT_TRUE(std::getline(in, version));
    EXPECT_EQ(sluice_version(), version);
    const RunResult said = run({binary_dir() + "/bin/show_shmem", "--version"});
    EXPECT_EQ(said.status, 0) << said.err;
    EXPECT_EQ(said.out, "Sluice " + version + "\n");
    // Outside a clone there is nothing to compare with: the version is that of the archive or of CMakeLists.txt.
    if (std::getline(in, commit) && !commit.empty()) {
        const RunResult described =
            run({"git", "-c", "safe.directory=*", "-C", source_dir(), "describe", "--match", "v[0-9]*", commit});
        EXPECT_EQ(described.status, 0) << described.err;
        EXPECT_EQ(described.out, "v" + version + "\n");
    }
}

}  // namespace
}  // namespace sluice::test
