// SPDX-License-Identifier: LGPL-3.0-or-later
// Output files that an assimilator keeps on another file system.
#include "daemons/assimilator/keep_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "sluice/base/files.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

/// What was synced while one of them lives; no file can be linked then.
std::vector<std::string>* synced = nullptr;
struct OtherFileSystem {
    OtherFileSystem() { synced = &names; }
    ~OtherFileSystem() { synced = nullptr; }
    std::vector<std::string> names;
};

}  // namespace
}  // namespace sluice::test

extern "C" {
int __real_linkat(int from, const char* old_name, int to, const char* name, int flags);
int __real_fsync(int fd);
int __wrap_linkat(int from, const char* old_name, int to, const char* name, int flags);
int __wrap_fsync(int fd);
}

int __wrap_linkat(int from, const char* old_name, int to, const char* name, int flags) {
    if (sluice::test::synced == nullptr) return __real_linkat(from, old_name, to, name, flags);
    errno = EXDEV;
    return -1;
}

int __wrap_fsync(int fd) {
    if (sluice::test::synced != nullptr) {
        struct stat info {};
        sluice::test::synced->push_back(::fstat(fd, &info) == 0 && S_ISDIR(info.st_mode) ? "folder" : "file");
    }
    return __real_fsync(fd);
}

namespace sluice::test {
namespace {

// The upload may go as soon as the workunit is marked: its copy has a name on the disk by then.
TEST(KeepFile, CopyAndNameAreOnTheDisk) {
    const TempDir folder;
    const auto from = folder.write("upload", "result"), to = folder / "kept";
    {
        const OtherFileSystem other;
        EXPECT_TRUE(keep_file(from, to));
        EXPECT_EQ(other.names, (std::vector<std::string>{"file", "folder"}));
    }
    EXPECT_EQ(read_file(to), "result");
    EXPECT_FALSE(std::filesystem::exists(to.string() + ".new"));
    EXPECT_TRUE(keep_file(from, to)) << "a link in its place";
    EXPECT_TRUE(std::filesystem::equivalent(from, to));
}

}  // namespace
}  // namespace sluice::test
