// SPDX-License-Identifier: LGPL-3.0-or-later
// db_purge, update_stats and db_dump on one made-up project, whose rows are in rows.sql.gz: 200 users, 25 teams, 250
// hosts, 300 workunits. The MD5s are those of what upstream's programs made of the same rows at the same time.
#include <gtest/gtest.h>

#include "daemons/cleaning/db_purge.h"
#include "daemons/statistics/db_dump.h"
#include "daemons/statistics/update_stats.h"
#include "sluice/base/files.h"
#include "sluice/base/hash.h"
#include "tests/db/golden/golden_rows.h"
#include "tests/support/database_rows.h"
#include "tests/support/fake_clock.h"
#include "tests/support/private_mariadb.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

constexpr double kNow = 1800000000;

class Golden : public testing::Test {
  protected:
    Golden() : settings_(load_golden_rows("golden")), db_(settings_), clock_(kNow) {}
    void expect_file(const fs::path& file, const char* md5) {
        EXPECT_EQ(md5_hex(unpacked(file)), md5) << file << "\n" << unpacked(file).substr(0, 2000);
    }
    /// Of `folder`/stats.
    void dump(const std::string& enumerations) {
        const std::string text = "<output_dir>" + (folder_ / "made").string() + "</output_dir><final_output_dir>" +
                                 (folder_ / "stats").string() + "</final_output_dir>" + enumerations;
        EXPECT_TRUE(dump_statistics(parse_dump_spec(text), text, {.user_country = true, .user_url = true},
                                    *make_dump_store(db_), clock_));
    }
    static std::string enumeration(const std::string& table, const std::string& rest) {
        return "<enumeration><table>" + table + "</table>" + rest + "</enumeration>";
    }

    TempDir folder_;
    DbSettings settings_;
    Database db_;
    FakeClock clock_;
};

// The only difference: app_version_id -2 was written without a sign.
TEST_F(Golden, ArchivesAreUpstreams) {
    const auto rows = make_cleaning_store(db_);
    for (const ArchiveCompression compression : {ArchiveCompression::kGzip, ArchiveCompression::kNone}) {
        PurgeOptions options;
        options.archive = {.folder = folder_ / "archives", .compression = compression};
        options.one_pass = true, options.dont_delete = true;
        {
            DbPurge purge(options, *rows, clock_);
            while (purge.turn().result == TurnResult::kWorked) {
            }
        }
        const std::string ending = compression == ArchiveCompression::kGzip ? ".xml.gz" : ".xml";
        for (const auto& [kind, md5] : {std::pair{"wu_archive", "39e508f3cd8248807939f5b950723906"},
                                        {"result_archive", "4f4f0d2ea9a9158ed1c227a4c53722ec"},
                                        {"wu_index", "dc25b2e53d921241cb3ac80895bf7df3"},
                                        {"result_index", "a625810586a6b2d695b22bf9e9e0c13c"}})
            expect_file(folder_ / "archives" / (std::string(kind) + "_1800000000" + ending), md5);
        fs::remove_all(folder_ / "archives");
    }
}

TEST_F(Golden, AveragesAreUpstreams) {
    UpdateStats(*make_statistics_store(db_), {}, clock_).turn();
    const auto expect_rows = [&](Sql sql, const char* md5) {
        std::string text;
        for (Rows r = db_.query(sql); r.next();) text += r.text(0) + "\n";
        EXPECT_EQ(md5_hex(text), md5) << text.substr(0, 1000);
    };
    const auto numbers = [](SqlLiteral table, SqlLiteral more) {
        Sql sql("SELECT CONCAT_WS(' ', id, CAST(expavg_credit AS DECIMAL(30,6)), CAST(expavg_time AS DECIMAL(30,6))");
        return std::move(sql << more << ") FROM " << table << " ORDER BY id");
    };
    expect_rows(numbers("user", ""), "36fdcb81f36ffba21b434797b88f70e3");
    expect_rows(numbers("host", ""), "498d317f6e56d0ae3bdc73be8fc45d47");
    expect_rows(numbers("team", ", nusers"), "7d4005d0152f5f57305ffe86f38bf6bb");
    expect_rows(numbers("app_version", ""), "f3ca587894d05860124aa932c7c30fa2");
}

// After what upstream wrote is read as what it means: characters instead of bytes, countries escaped.
TEST_F(Golden, DumpsAreUpstreams) {
    const std::string plain = "<output><compression>gzip</compression></output>",
                      detail = "<output><compression>gzip</compression><detail/></output>";
    dump(enumeration("user", "<filename>user</filename>" + plain) +
         enumeration("user_deleted", "<filename>user_deleted</filename>" + plain) +
         enumeration("host", "<filename>host</filename>" + detail) +
         enumeration("host_deleted", "<filename>host_deleted</filename>" + plain) +
         enumeration("team", "<filename>team</filename>" + plain));
    for (const auto& [file, md5] : {std::pair{"user.gz", "c2b9d17f9561bb6eb1d2708c6a191ca2"},
                                    {"host.gz", "2820c19a3168dac4c5b6b8f4e7fe23a9"},
                                    {"user_deleted.gz", "121a5b3a4274be6e40111a5e8d11294e"},
                                    {"host_deleted.gz", "d51f5d7be9e03fee5f265a29091020aa"},
                                    {"tables.xml", "097836cbb508e31b5a42091640dd0497"},
                                    {"badge_user.gz", "c980c9dbf0884201905b08a26d133873"},
                                    {"badge_team.gz", "efa43e7a8105060bf9ec6d13fc2bec3c"}})
        expect_file(folder_ / "stats" / file, md5);
}

TEST_F(Golden, SortedAndNumberedDumpsAreUpstreams) {
    dump(enumeration("user",
                     "<filename>user_id</filename><sort>id</sort><output><recs_per_file>60</recs_per_file></output>") +
         enumeration("user", "<filename>user_total</filename><sort>total_credit</sort><output></output>") +
         enumeration("host", "<filename>host_id</filename><sort>id</sort><output></output>"));
    for (const auto& [file, md5] : {std::pair{"user_id_0", "222a494a6cd11f09f5cb6b5434750fac"},
                                    {"user_id_1", "c4c683a4c18c641056a7647b4a8a7cdd"},
                                    {"user_id_2", "11a0d6cb9fc9f7e4b577354ee50df6e4"},
                                    {"user_total", "e7d679119d4f5528184f2b9b31444ff4"},
                                    {"host_id", "d068f36cce3cde8d2c2e0994594a0fee"}})
        expect_file(folder_ / "stats" / file, md5);
}

}  // namespace
}  // namespace sluice::test
