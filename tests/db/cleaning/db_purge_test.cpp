// SPDX-License-Identifier: LGPL-3.0-or-later
// db_purge: what it archives, in which form, and that a kill neither loses a row nor archives one twice.
#include <zlib.h>

#include <csignal>
#include <fstream>
#include <regex>
#include <thread>

#include "daemons/cleaning/db_purge.h"
#include "sluice/base/own_host.h"
#include "sluice/base/text.h"
#include "tests/db/batch/killed_program.h"
#include "tests/db/cleaning/cleaning_world.h"
#include "tests/support/fake_clock.h"

namespace sluice::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

constexpr auto kPurgeable = FileDeleteState::kDone;

/// A file's text; zlib reads one that is not compressed, too.
std::string text_of(const fs::path& path) {
    const gzFile file = gzopen(path.c_str(), "rb");
    std::string text;
    char block[65536];
    for (int n = 0; (n = gzread(file, block, sizeof block)) > 0;) text.append(block, static_cast<std::size_t>(n));
    gzclose(file);
    return text;
}

class Purge : public CleaningWorld {
  protected:
    fs::path archives() const { return project_ / "archives"; }
    /// All files of one kind, by name.
    std::vector<fs::path> files(const std::string& kind) const {
        std::vector<fs::path> found;
        std::error_code none;
        for (const auto& entry : fs::recursive_directory_iterator(archives(), none))
            if (entry.path().filename().string().starts_with(kind)) found.push_back(entry.path());
        std::ranges::sort(found);
        return found;
    }
    /// The ids in them, in order; each record is whole, and each archive has its frame.
    std::vector<Id> archived(const std::string& kind, const std::string& element) const {
        std::vector<Id> ids;
        for (const fs::path& file : files(kind)) {
            const std::string text = text_of(file);
            EXPECT_TRUE(text.starts_with("<archive>\n") && text.ends_with("</archive>\n"))
                << file << text.substr(0, 20);
            const std::regex record("<" + element + ">\n  <id>([0-9]+)</id>");
            for (std::sregex_iterator m(text.begin(), text.end(), record), end; m != end; ++m)
                ids.push_back(std::stoll((*m)[1]));
            std::size_t ends = 0;
            for (std::size_t at = 0; (at = text.find("</" + element + ">\n", at)) != text.npos; ++at) ++ends;
            EXPECT_EQ(ends, static_cast<std::size_t>(
                                std::count(text.begin(), text.end(), '\n') > 0
                                    ? std::distance(std::sregex_iterator(text.begin(), text.end(), record),
                                                    std::sregex_iterator())
                                    : 0));
        }
        return ids;
    }
    std::vector<Id> workunits() const { return archived("wu_archive", "workunit_archive"); }
    std::vector<Id> results() const { return archived("result_archive", "result_archive"); }
    std::vector<Id> indexed(const std::string& kind) const {
        std::vector<Id> ids;
        for (const fs::path& file : files(kind)) {
            std::istringstream lines(text_of(file));
            for (std::string line; std::getline(lines, line);) ids.push_back(std::stoll(line));
        }
        return ids;
    }
    std::vector<Id> left(SqlLiteral table) {
        std::vector<Id> ids;
        Sql sql("SELECT id FROM ");
        for (Rows r = db_.query(sql << table << " ORDER BY id"); r.next();) ids.push_back(r.i64(0));
        return ids;
    }
    void jobs(Id first, Id last) {
        for (Id id = first; id <= last; ++id) {
            workunit(id, kPurgeable);
            for (Id n = 0; n <= id % 3; ++n) result(id * 10 + n, id, kPurgeable);
        }
    }
};

// The elements, their order and formats are those that upstream's program wrote.
TEST_F(Purge, RecordsAreUpstreams) {
    Workunit& w = workunit(5, kPurgeable, "example_app_5");
    w.create_time = 1798272005, w.appid = 2, w.xml_doc = "<workunit>\n</workunit>", w.batch = 5,
    w.rsc_fpops_est = 3.6e12;
    w.opaque = 2.5, w.transition_time = 2147483647, w.result_template_file = "templates/out_2", w.priority = 2;
    EXPECT_EQ(
        workunit_record({w, "2037-01-01 00:00:00", {}}),
        "<workunit_archive>\n  <id>5</id>\n  <create_time>1798272005</create_time>\n  <appid>2</appid>\n"
        "  <name>example_app_5</name>\n  <xml_doc><workunit>\n</workunit></xml_doc>\n  <batch>5</batch>\n"
        "  <rsc_fpops_est>3.600000000000000e+12</rsc_fpops_est>\n  <rsc_fpops_bound>0.000000000000000e+00</rsc_fpops_bound>\n"
        "  <rsc_memory_bound>0.000000000000000e+00</rsc_memory_bound>\n  <rsc_disk_bound>0.000000000000000e+00</rsc_disk_bound>\n"
        "  <need_validate>0</need_validate>\n  <canonical_resultid>0</canonical_resultid>\n"
        "  <canonical_credit>0.000000000000000e+00</canonical_credit>\n  <transition_time>2147483647</transition_time>\n"
        "  <delay_bound>0</delay_bound>\n  <error_mask>0</error_mask>\n  <file_delete_state>2</file_delete_state>\n"
        "  <assimilate_state>0</assimilate_state>\n  <hr_class>0</hr_class>\n  <opaque>2.500000</opaque>\n"
        "  <min_quorum>0</min_quorum>\n  <target_nresults>0</target_nresults>\n  <max_error_results>0</max_error_results>\n"
        "  <max_total_results>0</max_total_results>\n  <max_success_results>0</max_success_results>\n"
        "  <result_template_file>templates/out_2</result_template_file>\n  <priority>2</priority>\n"
        "  <mod_time>2037-01-01 00:00:00</mod_time>\n</workunit_archive>\n");
    Result& r = result(15, 5, kPurgeable);
    r.app_version_id = -2;
    EXPECT_THAT(result_record({r, "x"}), HasSubstr("  <app_version_id>-2</app_version_id>\n"));
    EXPECT_EQ(archive_escape("a<b>&]]>\t\n\x01\xc3\xa9"), "a&lt;b>&amp;]]&gt;&#9;&#10;&#195;&#169;");
    EXPECT_EQ(index_line(5, 1800000000, "example_app_5"), "5     1800000000    example_app_5\n");
}

TEST_F(Purge, RowsMoveToTheArchives) {
    jobs(1, 5);
    workunit(6, FileDeleteState::kReady), result(60, 6, kPurgeable), workunit(7, kPurgeable, "x_nodelete_7");
    store();
    const RunResult r = run_program({"db_purge", "--one_pass", "-d", "3"});
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_THAT(r.err, HasSubstr("Archived 5 workunits and 11 results"));
    EXPECT_THAT(r.err, HasSubstr("Closed archive files with 5 workunits"));
    EXPECT_THAT(workunits(), ElementsAre(1, 2, 3, 4, 5));
    EXPECT_THAT(results(), ElementsAre(10, 11, 20, 21, 22, 30, 40, 41, 50, 51, 52));
    EXPECT_EQ(indexed("wu_index"), workunits());
    EXPECT_EQ(indexed("result_index"), results());
    EXPECT_THAT(left("workunit"), ElementsAre(6, 7));
    EXPECT_THAT(left("result"), ElementsAre(60));
    EXPECT_THAT(files(".open"), testing::IsEmpty());
}

TEST_F(Purge, OptionsChooseRowsAndFiles) {
    const auto again = [&] {
        truncate_all_tables(db_);
        fs::remove_all(archives());
        rows_.workunits.clear(), rows_.results.clear();
        jobs(1, 6);
        for (Id id = 1; id <= 6; ++id)
            rows_.workunits.at(id).appid = id <= 3 ? 1 : 2, rows_.workunits.at(id).batch = id % 3;
        rows_.batches[1].id = 1, rows_.batches[1].state = BatchState::kRetired;
        rows_.batches[2].id = 2, rows_.batches[2].state = BatchState::kInProgress;
        store();
        db_.execute(Sql("UPDATE workunit SET mod_time=CURRENT_TIMESTAMP - INTERVAL id DAY"));
    };
    const auto purge = [&](std::vector<std::string> words) {
        again();
        words.insert(words.begin(), {"db_purge", "--one_pass"});
        const RunResult r = run_program(words);
        EXPECT_EQ(r.status, 0) << r.err;
        return left("workunit");
    };
    EXPECT_THAT(purge({"--app", "two"}), ElementsAre(1, 2, 3));
    EXPECT_THAT(purge({"--min_age_days", "3.5"}), ElementsAre(1, 2, 3));
    EXPECT_THAT(purge({"--batch"}), ElementsAre(2, 5));
    EXPECT_THAT(purge({"--max", "4"}), ElementsAre(5, 6));
    EXPECT_THAT(purge({"--mod", "2", "1", "--no_archive"}), ElementsAre(2, 4, 6));
    EXPECT_THAT(workunits(), SizeIs(0));
    EXPECT_THAT(purge({"--dry_run"}), SizeIs(6));
    EXPECT_FALSE(fs::exists(archives()));
    EXPECT_THAT(purge({"--dont_delete"}), SizeIs(6));
    EXPECT_THAT(workunits(), SizeIs(6));
    EXPECT_THAT(purge({"--max_wu_per_file", "4"}), SizeIs(0));
    EXPECT_THAT(files("wu_archive"), SizeIs(2));
    EXPECT_THAT(workunits(), ElementsAre(1, 2, 3, 4, 5, 6));
    EXPECT_THAT(purge({"--gzip", "--daily_dir"}), SizeIs(0));
    EXPECT_THAT(workunits(), ElementsAre(1, 2, 3, 4, 5, 6));
    EXPECT_TRUE(files("wu_archive").at(0).string().ends_with(".xml.gz"));
    EXPECT_NE(files("wu_archive").at(0).parent_path(), archives());
    EXPECT_EQ(run_program({"db_purge", "--mod", "2", "1"}).status, 1);
    EXPECT_EQ(run_program({"db_purge", "--sleep", "0"}).status, 1);
}

TEST_F(Purge, Level1KeepsJobsOfBatchesInProgress) {
    jobs(1, 5);
    for (Id id = 1; id <= 4; ++id) rows_.workunits.at(id).batch = id;  // no row is there for batch 4
    for (const auto& [id, state] :
         {std::pair<Id, BatchState>{1, BatchState::kInProgress}, {2, BatchState::kComplete}, {3, BatchState::kAborted}})
        rows_.batches[id].id = id, rows_.batches[id].state = state;
    store();
    const std::string config = read_file(project_ / "config.xml").value();
    const auto end = config.find("</config>");
    project_.write("config.xml", config.substr(0, end) + "<compat_level>1</compat_level>" + config.substr(end));
    const RunResult r = run_program({"db_purge", "--one_pass"});
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_THAT(left("workunit"), ElementsAre(1));
    db_.execute(Sql("UPDATE batch SET state=2 WHERE id=1"));
    EXPECT_EQ(run_program({"db_purge", "--one_pass"}).status, 0);
    EXPECT_THAT(left("workunit"), SizeIs(0));
}

TEST_F(Purge, ZipHoldsTheSameText) {
    jobs(1, 3);
    store();
    const RunResult r = run_program({"db_purge", "--one_pass", "--zip"});
    ASSERT_EQ(r.status, 0) << r.err;
    ASSERT_THAT(files("wu_archive"), SizeIs(1));
    const RunResult unpacked = run({"unzip", "-p", files("wu_archive").at(0).string()});
    EXPECT_TRUE(unpacked.out.starts_with("<archive>\n<workunit_archive>\n  <id>1</id>")) << unpacked.err;
    EXPECT_TRUE(unpacked.out.ends_with("</archive>\n"));
    EXPECT_THAT(left("workunit"), SizeIs(0));
}

// Without zip the full archives can't be closed: that is an error each time, until zip is there.
TEST_F(Purge, AFullArchiveIsClosedAgainAfterFailure) {
    jobs(1, 3);
    store();
    PurgeOptions options;
    options.archive = {.folder = archives(), .compression = ArchiveCompression::kZip};
    options.max_wu_per_file = 1;
    const auto rows = make_cleaning_store(db_);
    const SystemClock clock;
    DbPurge purge(options, *rows, clock);
    const std::string path = ::getenv("PATH");
    ::setenv("PATH", "/nonexistent", 1);
    EXPECT_THROW(purge.turn(), FileError);
    EXPECT_THROW(purge.turn(), FileError) << "it must not look as if nothing were left to do";
    ::setenv("PATH", path.c_str(), 1);
    for (int i = 0; i < 3; ++i) purge.turn();
    EXPECT_THAT(left("workunit"), SizeIs(0));
    ASSERT_THAT(files("wu_archive"), SizeIs(3));
    for (const fs::path& file : files("wu_archive")) {
        const std::string text = run({"unzip", "-p", file.string()}).out;
        EXPECT_TRUE(text.ends_with("</workunit_archive>\n</archive>\n")) << file << " ends once: " << text;
    }
}

// A daemon runs for months: its archives of a day are whole when the day is over, also if nothing is purged any more.
TEST_F(Purge, ADaysArchivesAreClosedAfterIt) {
    jobs(1, 3);
    store();
    PurgeOptions options;
    options.archive = {.folder = archives(), .daily_folder = true};
    options.page = 1;
    const auto rows = make_cleaning_store(db_);
    FakeClock clock(1700000000);  // 2023-11-14 22:13:20
    DbPurge purge(options, *rows, clock);
    purge.turn();
    clock.set(1700000000 - 86400);  // a clock that goes back begins nothing anew
    purge.turn();
    EXPECT_THAT(files("wu_archive"), SizeIs(1));
    EXPECT_THAT(files(".open"), SizeIs(1));
    clock.set(1700006400);  // midnight
    purge.turn();
    ASSERT_THAT(files("wu_archive"), ElementsAre(archives() / "2023_11_14" / "wu_archive_1700000000.xml",
                                                 archives() / "2023_11_15" / "wu_archive_1700006400.xml"));
    EXPECT_TRUE(text_of(files("wu_archive").at(0)).ends_with("</archive>\n"));
    clock.set(1700006400 + 86400);
    purge.turn();
    EXPECT_THAT(files(".open"), testing::IsEmpty());
    EXPECT_THAT(workunits(), ElementsAre(1, 2, 3));
    EXPECT_THAT(left("workunit"), SizeIs(0));
}

/// Every row is either in the database or in an archive, once.
class PurgeKilled : public Purge {
  protected:
    void prepare() {
        truncate_all_tables(db_);
        fs::remove_all(archives());
        rows_.workunits.clear(), rows_.results.clear();
        jobs(1, 250);
        store();
    }
    void check_whole(const std::string& when) {
        std::vector<Id> all = workunits(), of_results = results();
        EXPECT_EQ(indexed("wu_index"), all) << when;
        EXPECT_EQ(indexed("result_index"), of_results) << when;
        for (const Id id : left("workunit")) all.push_back(id);
        for (const Id id : left("result")) of_results.push_back(id);
        std::ranges::sort(all), std::ranges::sort(of_results);
        std::vector<Id> wanted, wanted_results;
        for (const auto& [id, w] : rows_.workunits) wanted.push_back(id);
        for (const auto& [id, r] : rows_.results) wanted_results.push_back(id);
        EXPECT_EQ(all, wanted) << when;
        EXPECT_EQ(of_results, wanted_results) << when;
        EXPECT_THAT(files(".open"), testing::IsEmpty()) << when;
    }
};

TEST_F(PurgeKilled, AtAnyStatementNothingIsLostOrTwice) {
    const int killed = killed_at_each_statement(
        {program("db_purge"), "--one_pass", "--gzip"}, project_.path(), [&] { prepare(); },
        [&] {
            ASSERT_EQ(run_program({"db_purge", "--one_pass", "--gzip"}).status, 0);
        },
        [&](const std::string& when) {
            check_whole(when);
            EXPECT_THAT(left("workunit"), SizeIs(0)) << when;
        });
    EXPECT_GE(killed, 15);
}

// Among the writes of files: at a moment that differs from time to time.
TEST_F(PurgeKilled, AtAnyMomentNothingIsLostOrTwice) {
    int killed = 0;
    for (int round = 0; round < 25; ++round) {
        prepare();
        RunOptions options;
        options.env["BOINC_PROJECT_DIR"] = project_.path().string();
        Subprocess daemon({program("db_purge"), "--one_pass"}, options);
        const auto wanted = static_cast<std::size_t>(round * 97 % 700 * 100);
        const auto far_enough = [&] {
            for (const fs::path& file : files("result_archive")) {
                std::error_code gone;
                if (fs::file_size(file, gone) >= wanted) return true;
            }
            return false;
        };
        while (!far_enough() && ::kill(daemon.pid(), 0) == 0 && left("workunit").size() > 0) std::this_thread::yield();
        ::kill(daemon.pid(), SIGKILL);
        const auto ended = daemon.wait();
        killed += ended && ended->signal == SIGKILL ? 1 : 0;
        const RunResult r = run_program({"db_purge", "--one_pass"});
        ASSERT_EQ(r.status, 0) << r.err;
        check_whole("round " + std::to_string(round));
        EXPECT_THAT(left("workunit"), SizeIs(0));
    }
    EXPECT_GE(killed, 5);
}

TEST_F(PurgeKilled, SeveralAtOnceArchiveEachRowOnce) {
    prepare();
    RunOptions options;
    options.env["BOINC_PROJECT_DIR"] = project_.path().string();
    std::vector<Subprocess> daemons;
    for (int i = 0; i < 3; ++i)
        daemons.emplace_back(std::vector<std::string>{program("db_purge"), "--one_pass"}, options);
    for (Subprocess& daemon : daemons) {
        const auto ended = daemon.wait();
        ASSERT_TRUE(ended);
        EXPECT_EQ(ended->status, 0) << ended->err;
    }
    check_whole("afterwards");
    EXPECT_THAT(left("workunit"), SizeIs(0));
}

// A full disk, or a folder that can't be written any more: nothing is kept of the page, and it can be given again.
TEST_F(PurgeKilled, AFailedPageLeavesTheArchivesWhole) {
    jobs(1, 2);
    store();
    const auto store = make_cleaning_store(db_);
    const std::vector<PurgedWorkunit> page = store->purgeable({}, 0, 10);
    ASSERT_EQ(page.size(), 2U);
    ArchiveSet set({.folder = archives()}, 1700000000);
    const fs::path away = archives().string() + ".away";
    fs::rename(archives(), away);
    EXPECT_THROW(set.add(page), std::exception);
    EXPECT_EQ(set.workunits(), 0);
    EXPECT_THAT(set.pending(), testing::IsEmpty());
    fs::rename(away, archives());
    set.add(page);
    set.page_is_deleted();
    set.close();
    EXPECT_THAT(workunits(), ElementsAre(1, 2));
    EXPECT_EQ(indexed("wu_index"), workunits());
}

// The process lives: nobody but itself could take its mark for one that was left.
TEST_F(PurgeKilled, ASetThatCannotBeOpenedLeavesNothing) {
    prepare();
    fs::create_directories(archives());
    const fs::path in_the_way = archives() / "result_archive_1700000000.xml";
    fs::create_symlink(archives() / "nowhere", in_the_way);
    const auto rows = make_cleaning_store(db_);
    FakeClock clock(1700000000);
    {
        PurgeOptions options;
        options.archive.folder = archives(), options.max_workunits = 3, options.page = 3;
        DbPurge purge(options, *rows, clock);
        EXPECT_THROW(purge.turn(), FileError);
        EXPECT_THAT(files(".open"), testing::IsEmpty());
        EXPECT_THAT(files("wu_archive"), testing::IsEmpty());
        EXPECT_THAT(left("workunit"), SizeIs(250));
        fs::remove(in_the_way);
        purge.turn();
    }
    EXPECT_THAT(workunits(), ElementsAre(1, 2, 3));
    check_whole("afterwards");
}

// Its process died when it found the files of the other set.
TEST_F(PurgeKilled, ASetOfAnotherProcessIsLeftAlone) {
    prepare();
    ArchiveSet living({.folder = archives()}, 1700000000);
    std::string dead = "process 1999999 1 boot " + own_host_name() + "\ncompression 0\nworkunits 0\n";
    for (const char* kind : {"wu_archive", "result_archive", "result_index", "wu_index"})
        dead += "file 0 " + (archives() / kind).string() + "_1700000000.xml\n";
    project_.write("archives/.open_1700000000_1", dead + "end\n");
    ASSERT_EQ(run_program({"db_purge", "--one_pass", "--max", "3"}).status, 0);
    EXPECT_THAT(files("wu_archive"), SizeIs(2));
    living.close();
    EXPECT_THAT(workunits(), ElementsAre(1, 2, 3));
    // Closed by now.
    const std::string other = files("wu_archive").at(0).stem().string().substr(11);
    replace_all(dead, "_1700000000", "_" + other);
    project_.write("archives/.open_1700000000_1", dead + "end\n");
    ASSERT_EQ(run_program({"db_purge", "--one_pass", "--max", "3"}).status, 0);
    EXPECT_THAT(workunits(), ElementsAre(1, 2, 3, 4, 5, 6));
    check_whole("afterwards");
}

// The pid of a process on another machine says nothing here.
TEST_F(PurgeKilled, AnotherMachinesArchivesAreLeftOpen) {
    prepare();
    ASSERT_EQ(run_program({"db_purge", "--one_pass", "--max", "1"}).status, 0);
    const std::string mark =
        "process 1999999 1 another_boot another_host\ncompression 0\nworkunits 1\nfile 10 no/a\nfile 10 no/b\nfile 0 no/c\nfile 0 no/d\nend\n";
    project_.write("archives/.open_5", mark);
    ASSERT_EQ(run_program({"db_purge", "--one_pass", "--max", "1"}).status, 0);
    EXPECT_EQ(read_file(archives() / ".open_5"), mark);
    fs::last_write_time(archives() / ".open_5", fs::file_time_type::clock::now() - std::chrono::hours(49));
    ASSERT_EQ(run_program({"db_purge", "--one_pass", "--max", "1"}).status, 0);
    EXPECT_FALSE(fs::exists(archives() / ".open_5")) << "silent for two days";
    project_.write("archives/.open_5", "process 1");
    EXPECT_EQ(run_program({"db_purge", "--one_pass", "--max", "1"}).status, 1);
}

// The power went, and then the project went to another folder: its archives are ended where they are now.
TEST_F(PurgeKilled, ArchivesLeftOpenMayHaveMoved) {
    prepare();
    const auto rows = make_cleaning_store(db_);
    const fs::path before = project_ / "before";
    {
        ArchiveSet set({.folder = before, .daily_folder = true}, 1700000000);
        set.add(rows->purgeable({}, 0, 3));
    }
    fs::rename(before, archives());
    const fs::path mark = files(".open").at(0);
    std::string text = read_file(mark).value();
    replace_all(text, "process " + std::to_string(::getpid()) + " ", "process 1999999 ");
    project_.write("archives/" + mark.filename().string(), text);
    std::ofstream(files("wu_archive").at(0), std::ios::app) << "<workunit_archive>\n  <id>4</id>";  // not kept
    const RunResult r = run_program({"db_purge", "--one_pass"});
    ASSERT_EQ(r.status, 0) << r.err;
    check_whole("afterwards");
    EXPECT_THAT(left("workunit"), SizeIs(0));
}

// Another process at work on the same archives is left alone.
TEST_F(PurgeKilled, ALivingOnesArchivesAreLeftOpen) {
    prepare();
    ArchiveSet living({.folder = archives()}, 1700000000);
    ASSERT_EQ(run_program({"db_purge", "--one_pass", "--max", "3"}).status, 0);
    EXPECT_THAT(files(".open"), SizeIs(1));
    living.close();
    EXPECT_THAT(files(".open"), SizeIs(0));
    EXPECT_THAT(workunits(), ElementsAre(1, 2, 3));
}

}  // namespace
}  // namespace sluice::test
