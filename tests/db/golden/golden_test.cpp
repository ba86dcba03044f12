// SPDX-License-Identifier: LGPL-3.0-or-later
// db_purge, update_stats, db_dump, file_deleter, cancel_jobs and trickle handlers on one made-up project, whose rows
// are in rows.sql.gz: 200 users, 25 teams, 250 hosts, 300 workunits. Its files are in tree.tsv.gz. The MD5s are those
// of what upstream's programs made of the same rows and files at the same time.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <tuple>

#include "daemons/cleaning/db_purge.h"
#include "daemons/cleaning/file_deleter.h"
#include "daemons/messages/trickle.h"
#include "daemons/statistics/db_dump.h"
#include "daemons/statistics/update_stats.h"
#include "daemons/transitioner/transitioner.h"
#include "sluice/base/files.h"
#include "sluice/base/hash.h"
#include "sluice/base/text.h"
#include "sluice/db/work_store.h"
#include "tests/db/golden/golden_rows.h"
#include "tests/support/database_rows.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fixed_rng.h"
#include "tests/support/paths.h"
#include "tests/support/private_mariadb.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

using TextRows = std::vector<std::vector<std::string>>;
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
                                 (folder_ / "stats").string() + "</final_output_dir>" + enumerations +
                                 "</boinc_db_dump_spec>";
        EXPECT_TRUE(dump_statistics(parse_dump_spec(text), text, {.user_country = true, .user_url = true},
                                    *make_dump_store(db_), clock_));
    }
    static std::string enumeration(const std::string& table, const std::string& rest) {
        return "<enumeration><table>" + table + "</table>" + rest + "</enumeration>";
    }

    /// Of the files `beginning`TIME.xml, in order, as "1 2 3 \n".
    static std::string archived_ids(const fs::path& beginning) {
        std::string ids;
        for (int second = 0; second < 3; ++second) {
            const fs::path file =
                beginning.string() + std::to_string(static_cast<std::int64_t>(kNow) + second) + ".xml";
            const std::string text = read_file(file).value_or("");
            for (auto at = text.find("<id>"); at != text.npos; at = text.find("<id>", at + 1))
                ids += std::to_string(std::atoll(text.c_str() + at + 4)) + " ";
        }
        return ids + "\n";
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

// Rows without an average are not written.
TEST_F(Golden, AveragesByAppAreUpstreams) {
    UpdateStatsOptions options{.tables = {CreditTable::kUserByApp, CreditTable::kTeamByApp}, .min_age = 0};
    UpdateStats(*make_statistics_store(db_), options, clock_).turn();
    for (const auto& [table, column, md5] :
         {std::tuple{SqlLiteral("credit_user"), SqlLiteral("userid"), "cf2344a34c61995272ce980ef76b728b"},
          std::tuple{SqlLiteral("credit_team"), SqlLiteral("teamid"), "573bc77461b561feeba38c162d0e3ed1"}}) {
        Sql sql("SELECT CONCAT_WS(' ', ");
        sql << column
            << ", appid, njobs, CAST(total AS DECIMAL(30,6)), CAST(expavg AS DECIMAL(30,6)), CAST(expavg_time AS "
               "DECIMAL(30,6))) FROM "
            << table << " WHERE expavg>0 ORDER BY " << column << ", appid";
        std::string text;
        for (Rows r = db_.query(sql); r.next();) text += r.text(0) + "\n";
        EXPECT_EQ(md5_hex(text), md5) << text.substr(0, 1000);
    }
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

// Of users whose last two words came in one second, upstream wrote both: twice who agreed twice, and who withdrew in
// that second. Here everybody stands once, and the last word counts; so those who withdrew agree before the comparison.
TEST_F(Golden, ConsentingOnesAreUpstreams) {
    db_.execute(Sql("UPDATE consent_type SET enabled=1 WHERE shortname='STATSEXPORT'"));
    db_.execute(
        Sql("UPDATE consent later JOIN consent earlier USING (userid, consent_type_id, consent_time) SET "
            "later.consent_flag=1 WHERE later.id>earlier.id AND earlier.consent_flag=1"));
    dump(enumeration("user", "<filename>user</filename><sort>id</sort><output></output>") +
         enumeration("host", "<filename>host</filename><sort>id</sort><output></output>") +
         enumeration("team", "<filename>team</filename><sort>id</sort><output></output>"));
    const auto ids = [&](const char* file) {
        const std::string text = read_file(folder_ / "stats" / file).value_or("");
        std::string list;
        for (auto at = text.find("<id>"); at != text.npos; at = text.find("<id>", at + 1))
            list += std::to_string(std::atoll(text.c_str() + at + 4)) + " ";
        return list;
    };
    for (const auto& [file, md5] : {std::pair{"user", "6293759dbabe1aae7a80286469c99017"},
                                    {"host", "2338c3612e5256762fe56a1a72b255ce"},
                                    {"team", "52d3bee69d795a1806c0bf783b863791"}})
        EXPECT_EQ(md5_hex(ids(file)), md5) << file << ": " << ids(file);
}

// Which workunits go, and with them which results, by each option that chooses.
TEST_F(Golden, PurgedRowsAreUpstreams) {
    struct Case {
        const char *name, *workunits, *results;
        std::function<void(PurgeOptions&)> choose;
    };
    const auto app = [&](const char* name) { return make_cleaning_store(db_)->app_id(name).value(); };
    const Case cases[] = {
        {"plain", "f26b3d60ca2902fbbe15615fe27b3139", "c20a679ad41bc507a30abdd9b39740f3", [](PurgeOptions&) {}},
        {"--batch --app upper_case --max 5", "2213d2c245901b842d283bd32c919284", "4e5b0eac2da2d034d4903818405bb990",
         [&](PurgeOptions& o) {
             o.filter.finished_batches = true, o.filter.appid = app("upper_case"), o.max_workunits = 5;
         }},
        {"--min_age_days 7.5", "037552b3525828470a0990ec95e6ef77", "24a4974895b99c0e101f4bbdd8ce8103",
         [](PurgeOptions& o) { o.filter.min_age_days = 7.5, o.archive.daily_folder = true; }},
        {"--app example_app", "98c538eedf95e8f52c1ed0da3a2977d7", "27071e57d5a072158e67f538b1107223",
         [&](PurgeOptions& o) { o.filter.appid = app("example_app"); }},
        {"--mod 3 1", "6847c62d8394776b290ee0f2c6cd6edc", "cfd2073a86fba9ec01f6978ae84125cc",
         [](PurgeOptions& o) { o.filter.share = {.n = 3, .i = 1}; }},
        {"--max_wu_per_file 40 --min_age_days 1", "037552b3525828470a0990ec95e6ef77",
         "24a4974895b99c0e101f4bbdd8ce8103",
         [](PurgeOptions& o) { o.max_wu_per_file = 40, o.filter.min_age_days = 1; }},
    };
    const auto rows = make_cleaning_store(db_);
    for (const Case& c : cases) {
        PurgeOptions options;
        options.archive = {.folder = folder_ / "archives"};
        options.one_pass = options.dont_delete = true;
        c.choose(options);
        {
            DbPurge purge(options, *rows, clock_);
            while (purge.turn().result == TurnResult::kWorked) {
            }
        }
        const fs::path in = options.archive.daily_folder ? folder_ / "archives/2027_01_15" : folder_ / "archives";
        EXPECT_EQ(md5_hex(archived_ids(in / "wu_archive_")), c.workunits) << c.name;
        EXPECT_EQ(md5_hex(archived_ids(in / "result_archive_")), c.results) << c.name;
        fs::remove_all(folder_ / "archives");
    }
}

/// Which files go, and what the rows become.
class GoldenFiles : public Golden {
  protected:
    GoldenFiles() {
        std::istringstream lines(unpacked(fs::path(source_dir()) / "tests/db/golden/tree.tsv.gz"));
        for (std::string line; std::getline(lines, line);) {
            const auto tab = line.find('\t');
            std::string& text = tree_[line.substr(0, tab)] = line.substr(tab + 1);
            for (auto at = text.find("\\n"); at != text.npos; at = text.find("\\n")) text.replace(at, 2, "\n");
        }
        for (const auto& [path, text] : tree_)
            if (path.ends_with(".gz")) make_gzip(path);
    }
    /// NAME.gz is what gzip would make of NAME, as file_deleter sees it by the first and the last bytes.
    void make_gzip(const std::string& path) {
        std::string& text = tree_[path] = "\x1f\x8b" + std::string(16, '\0');
        for (std::size_t size = tree_.at(path.substr(0, path.size() - 3)).size(), i = 0; i < 4; ++i, size >>= 8)
            text[14 + i] = static_cast<char>(size & 255);
    }
    void write_tree() {
        for (const auto& [path, text] : tree_) {
            fs::create_directories((folder_ / path).parent_path());
            std::ofstream(folder_ / path) << text;
        }
    }
    std::string unlinked() const {
        std::string text;
        for (const auto& [path, content] : tree_)
            if (!fs::exists(folder_ / path)) text += path + "\n";
        return text;
    }
    using States = std::map<std::pair<int, Id>, std::int64_t>;
    States states() {
        States all;
        for (const int table : {0, 1}) {
            Sql sql("SELECT id, file_delete_state FROM ");
            for (Rows r = db_.query(sql << (table == 0 ? SqlLiteral("workunit") : SqlLiteral("result"))); r.next();)
                all[{table, r.i64(0)}] = r.i64(1);
        }
        return all;
    }
    /// What has changed since `before`; afterwards it is as before.
    std::string take_changes(const States& before) {
        std::string text;
        for (const auto& [row, state] : states()) {
            if (state == before.at(row)) continue;
            text += fmt::format("{}\t{}\t{}\n", row.first == 0 ? "workunit" : "result", row.second, state);
            Sql sql("UPDATE ");
            sql << (row.first == 0 ? SqlLiteral("workunit") : SqlLiteral("result")) << " SET file_delete_state=";
            db_.execute(sql << before.at(row) << " WHERE id=" << row.second);
        }
        return text;
    }
    std::map<std::string, std::string> tree_;
};

TEST_F(GoldenFiles, DeletedOnesAreUpstreams) {
    struct Case {
        const char *name, *unlinked, *changes;
        std::function<void(FileDeleterOptions&)> choose;
    };
    const auto rows = make_cleaning_store(db_);
    const Case cases[] = {
        {"plain", "19e6d995d31eae5f4bc6e8ba8f0eed41", "2ae1e39e74f991b82b6bfaa014d994b8", [](FileDeleterOptions&) {}},
        {"noretry", "503244e7926d245c9f2c681ee526177a", "766f20f5f6f3b5488887f77d90ed009c",
         [&](FileDeleterOptions& o) {
             o.retry_errors = o.delete_md5 = false, o.filter.appid = rows->app_id("example_app").value();
         }},
        {"output_only", "2a54960aba74afd327685cb110a80029", "77bd570bc0eedb2c6d62a3383882b3ab",
         [](FileDeleterOptions& o) { o.workunits = false, o.filter.share = {.n = 2, .i = 1}; }},
        {"input_only", "688123af6ccf49278af8bc83d1acfc84", "046279b41d3eb4d800d62bd9de22816f",
         [](FileDeleterOptions& o) { o.results = false, o.filter.xml_doc_like = "%shared%"; }},
        {"preserve", "d41d8cd98f00b204e9800998ecf8427e", "eb306ec52315733ca5de8307a1d1d135",
         [](FileDeleterOptions& o) { o.preserve_wu_files = o.preserve_result_files = true; }},
    };
    const States before = states();
    for (const Case& c : cases) {
        write_tree();
        FileDeleterOptions options;
        options.one_pass = options.delete_md5 = true;
        c.choose(options);
        FileDeleter deleter(options, FileTree(folder_ / "upload", 64), FileTree(folder_ / "download", 64), *rows,
                            clock_);
        while (deleter.turn().result == TurnResult::kWorked) {
        }
        EXPECT_EQ(md5_hex(unlinked()), c.unlinked) << c.name << "\n" << unlinked();
        const std::string changes = take_changes(before);
        EXPECT_EQ(md5_hex(changes), c.changes) << c.name << "\n" << changes;
    }
}

TEST_F(Golden, CancelledJobsAreUpstreams) {
    db_.execute(Sql("UPDATE workunit SET transition_time=2147483647"));
    const SqlLiteral cancelled("SELECT id FROM result WHERE server_state=5 AND outcome=5");
    std::vector<Id> before;
    for (Rows r = db_.query(Sql(cancelled)); r.next();) before.push_back(r.i64(0));
    const auto store = make_cancel_store(db_);
    for (const CancelFilter& filter : {CancelFilter{.first = 20, .last = 60}, CancelFilter{.name = "example_app_101"}})
        store->cancel(store->page(filter, 0, 1000), static_cast<std::int64_t>(kNow));
    const auto workunits = [](SqlLiteral where) {
        Sql sql("SELECT id, error_mask, transition_time, need_validate, assimilate_state, file_delete_state FROM ");
        return std::move(sql << "workunit WHERE " << where << " ORDER BY id");
    };
    const auto lines = [&](const char* table, const TextRows& rows) {
        std::string text;
        for (const auto& row : rows) {
            text += table;
            for (const std::string& value : row) text += "\t" + value;
            text += "\n";
        }
        return text;
    };
    const Sql all("SELECT id, server_state, outcome, validate_state, file_delete_state FROM result ORDER BY id");
    Sql results("SELECT id, server_state, outcome, validate_state, file_delete_state FROM result WHERE id IN (");
    results << cancelled << ") AND id NOT IN (" << Sql("").ids(before) << ") ORDER BY id";
    const std::string text = lines("workunit", rows_of(db_, workunits("transition_time<2147483647"), 6)) +
                             lines("result", rows_of(db_, results, 5));
    EXPECT_EQ(md5_hex(text), "63e617d06c07980098b6ae86161cd408") << text;

    // What the transitioner makes of them, five seconds later.
    const TextRows results_before = rows_of(db_, all, 5);
    clock_.advance(5);
    FixedRng rng(1);
    ResultTemplates templates(folder_.path(), "http://127.0.0.1/p_cgi/file_upload_handler", nullptr);
    const auto transitions = make_transition_store(db_);
    Transitioner({}, {.daily_result_quota = 500}, *transitions, templates, {clock_, rng}).pass();
    TextRows changed = rows_of(db_, all, 5);
    ASSERT_EQ(changed.size(), results_before.size()) << "no cancelled workunit gets another result";
    std::erase_if(changed,
                  [&](const auto& row) { return std::ranges::find(results_before, row) != results_before.end(); });
    const std::string after =
        lines("workunit", rows_of(db_, workunits("error_mask & 16 <> 0"), 6)) + lines("result", changed);
    EXPECT_EQ(md5_hex(after), "843e3e09d02de1edf942f4ce90fc26ca") << after;
}

class GoldenTrickles : public Golden {
  protected:
    void handle(const std::string& variety, const HandleMessage& handler) {
        TrickleService service(*store_, variety, 5, handler);
        while (service.turn().result == TurnResult::kWorked) {
        }
    }
    /// Numbers as words; those of the ids named.
    std::string numbers(SqlLiteral columns, SqlLiteral table, const std::vector<Id>& ids) {
        Sql sql("SELECT CONCAT_WS(' ', id, ");
        sql << columns << ") FROM " << table << " WHERE id IN (";
        std::string text;
        for (Rows r = db_.query(sql.ids(ids) << ") ORDER BY id"); r.next();) text += r.text(0) + "; ";
        return text;
    }
    std::unique_ptr<MessageStore> store_ = make_message_store(db_);
};

TEST_F(GoldenTrickles, CreditDeadlinesAndEchoesAreUpstreams) {
    handle("credit", credit_handler(*store_, clock_, 10000, [&] { return store_->speeds(); }));
    const SqlLiteral credit("CAST(total_credit AS DECIMAL(30,4)), CAST(expavg_credit AS DECIMAL(30,4))");
    EXPECT_EQ(numbers(credit, "host", {3, 4, 8, 9, 13, 249}),
              "3 64.6389 14.0556; 4 240.0799 14.9491; 8 82.0000 12.9296; 9 175.5833 601.5367; 13 174.9167 18.7911; "
              "249 2635.5833 601.5367; ");
    EXPECT_EQ(
        numbers(credit, "user", {22, 29, 57, 64, 92}),
        "22 858.8889 1.8745; 29 1286.5799 17.4586; 57 2137.5000 0.0857; 64 2483.3333 8.3868; 92 3491.6667 4.0505; ");
    EXPECT_EQ(numbers(credit, "team", {1, 2, 3, 5}),
              "1 1083.4583 7.9016; 2 2240.8715 15.8150; 3 3000.1250 0.0906; 5 5034.0139 1178.1430; ");

    for (const auto& [id, deadline] : {std::pair{1, 1800100000},
                                       {2, 1800200000},
                                       {21, 1800200001},
                                       {22, 1799999999},
                                       {23, 1800000000},
                                       {42, 1800050000}}) {
        Sql sql("UPDATE result SET report_deadline=");
        db_.execute(sql << deadline << " WHERE id=" << id);
    }
    db_.execute(Sql("UPDATE result SET server_state=5, outcome=4 WHERE id=42"));
    // The only difference: upstream moved the deadline of 42, too, which is over.
    handle("deadline", deadline_handler(*store_, clock_, 86400, 200000));
    EXPECT_EQ(numbers("report_deadline", "result", {1, 2, 21, 22, 23, 42}),
              "1 1800186400; 2 1800286400; 21 1800200001; 22 1799999999; 23 1800086400; 42 1800050000; ");

    handle("echo", echo_handler(*store_, clock_));
    const auto sent =
        rows_of(db_, Sql("SELECT create_time, hostid, variety, handled, xml FROM msg_to_host ORDER BY id"), 5);
    EXPECT_EQ(
        sent,
        (std::vector<std::vector<std::string>>{
            {"1800000000", "11", "echo", "0", "<trickle_down>\n<msg>hello 'quoted' \\ \u00e9</msg>\n</trickle_down>\n"},
            {"1800000000", "12", "echo", "0", "<trickle_down>\n</trickle_down>\n"}}));
    EXPECT_EQ(number_of(db_, Sql("SELECT COUNT(*) FROM msg_from_host WHERE variety IN ('credit', 'deadline', 'echo') "
                                 "AND handled=0")),
              0);
}

}  // namespace
}  // namespace sluice::test
