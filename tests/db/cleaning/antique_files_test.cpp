// SPDX-License-Identifier: LGPL-3.0-or-later
// antique_file_deleter: which uploads are nobody's. The cases are those in which upstream's program was seen.
#include <fcntl.h>
#include <sys/stat.h>

#include "daemons/cleaning/antique_files.h"
#include "tests/db/cleaning/cleaning_world.h"
#include "tests/support/fake_clock.h"

namespace sluice::test {
namespace {

constexpr std::int64_t kNow = 1800000000, kDay = 86400;

class AntiqueUploads : public CleaningWorld {
  protected:
    AntiqueUploads() : store_(make_cleaning_store(db_)) {}
    fs::path file(const std::string& name, std::int64_t age, const std::string& folder = "0") {
        const fs::path path = upload() / folder / name;
        fs::create_directories(path.parent_path());
        write(path);
        set_age(path, age);
        return path;
    }
    static void set_age(const fs::path& path, std::int64_t age) {
        const timespec time{kNow - age, 0};
        const timespec both[2] = {time, time};
        ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), both, AT_SYMLINK_NOFOLLOW), 0);
    }
    TurnResult clean(AntiqueOptions options = {}, int fanout = kFanout) {
        options.upload_dir = upload(), options.fanout = fanout, options.pause = 0;
        FakeClock clock(static_cast<double>(kNow));
        return AntiqueFiles(std::move(options), *store_, clock).turn().result;
    }
    void oldest(std::int64_t age) {
        rows_.workunits.clear();
        truncate_all_tables(db_);
        rows_.workunits[1].id = 1, rows_.workunits[1].name = "old_nodelete", rows_.workunits[1].create_time = 1;
        rows_.workunits[2].id = 2, rows_.workunits[2].name = "w", rows_.workunits[2].create_time = kNow - age;
        store();
    }
    std::unique_ptr<CleaningStore> store_;
};

TEST_F(AntiqueUploads, OlderThan32DaysAndThanAllWorkunits) {
    oldest(0);
    const auto old = file("old", 40 * kDay), edge = file("edge", 32 * kDay, "3"), part = file("f..part", 33 * kDay);
    const auto young = file("young", 32 * kDay - 1), hidden = file(".hidden", 90 * kDay);
    const auto nodelete = file("old_nodelete_1_0", 90 * kDay);
    const auto inside = file("inside", 90 * kDay, "0/folder"), beside = file("beside", 90 * kDay, "other");
    fs::create_symlink(young, upload() / "0/link");
    set_age(upload() / "0/link", 90 * kDay);
    EXPECT_EQ(clean(), TurnResult::kFinished);
    for (const auto& gone : {old, edge, part}) EXPECT_FALSE(fs::exists(gone)) << gone;
    for (const auto& there : {young, hidden, nodelete, inside, beside, upload() / "0/link"})
        EXPECT_TRUE(fs::exists(there)) << there;
    EXPECT_EQ(antique_limit(kNow, kNow), kNow - 32 * kDay);
    EXPECT_EQ(antique_limit(kNow, kNow - 100 * kDay), kNow - 101 * kDay);
}

// Without <uldl_dir_fanout> the uploads lie in upload/ itself, and its folders are nobody's.
TEST_F(AntiqueUploads, WithoutFanOutThoseOfTheUploadFolder) {
    oldest(0);
    const auto old = file("old_flat", 40 * kDay, ""), edge = file("edge_flat", 32 * kDay, "");
    const auto very_old = file("very_old_flat", 101 * kDay + 5, "");
    const auto young = file("young_flat", 32 * kDay - 1, ""), hidden = file(".hidden", 90 * kDay, "");
    const auto inside = file("inside", 90 * kDay, "subdir_old"), fanned = file("fanned", 90 * kDay, "0");
    fs::create_symlink(young, upload() / "link_old");
    set_age(upload() / "link_old", 90 * kDay);
    EXPECT_EQ(clean({}, 0), TurnResult::kFinished);
    for (const auto& gone : {old, edge, very_old}) EXPECT_FALSE(fs::exists(gone)) << gone;
    for (const auto& there : {young, hidden, inside, fanned, upload() / "link_old"})
        EXPECT_TRUE(fs::exists(there)) << there;
}

TEST_F(AntiqueUploads, OfOldWorkunitsStay) {
    oldest(100 * kDay);
    const auto old = file("old", 101 * kDay - 1), antique = file("antique", 101 * kDay);
    EXPECT_EQ(clean(), TurnResult::kFinished);
    EXPECT_TRUE(fs::exists(old));
    EXPECT_FALSE(fs::exists(antique));
}

// Upstream's program ended at the first fan-out folder that was not there.
TEST_F(AntiqueUploads, MissingFoldersAreSkipped) {
    oldest(0);
    fs::remove_all(upload() / "1");
    const auto old = file("old", 40 * kDay, "2");
    EXPECT_EQ(clean(), TurnResult::kFinished);
    EXPECT_FALSE(fs::exists(old));
}

TEST_F(AntiqueUploads, WithoutWorkunitsNothingIsDeleted) {
    const auto old = file("old", 400 * kDay);
    EXPECT_EQ(clean(), TurnResult::kFinished);
    EXPECT_TRUE(fs::exists(old));
}

TEST_F(AntiqueUploads, ADryRunDeletesNothing) {
    oldest(0);
    const auto old = file("old", 40 * kDay);
    EXPECT_EQ(clean({.dry_run = true}), TurnResult::kFinished);
    EXPECT_TRUE(fs::exists(old));
}

TEST_F(AntiqueUploads, OfAnotherAccountStayWhereOneIsNamed) {
    oldest(0);
    const auto old = file("old", 40 * kDay);
    EXPECT_EQ(clean({.owner = ::geteuid() + 1}), TurnResult::kFinished);
    EXPECT_TRUE(fs::exists(old));
    EXPECT_EQ(clean({.owner = ::geteuid()}), TurnResult::kFinished);
    EXPECT_FALSE(fs::exists(old));
}

TEST_F(AntiqueUploads, TheProgramNeedsNoHttpdUser) {
    truncate_all_tables(db_);
    rows_.workunits[2].id = 2, rows_.workunits[2].name = "w", rows_.workunits[2].create_time = 2000000000;
    store();
    const fs::path old = upload() / "0/old";
    write(old);
    const timespec both[2] = {{1000, 0}, {1000, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, old.c_str(), both, 0), 0);
    const RunResult dry = run_program({"antique_file_deleter", "--dry_run"});
    EXPECT_EQ(dry.status, 0) << dry.err;
    EXPECT_THAT(dry.err, testing::HasSubstr("Would delete '" + old.string() + "'"));
    const RunResult r = run_program({"antique_file_deleter", "--usleep", "0"});
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_FALSE(fs::exists(old));
}

}  // namespace
}  // namespace sluice::test
