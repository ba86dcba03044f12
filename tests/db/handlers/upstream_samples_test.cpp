// SPDX-License-Identifier: LGPL-3.0-or-later
// Upstream's own samples, unchanged, built against an installed Sluice: they judge 1,000 workunits as our programs of
// those names do, which judge as upstream's (tests/db/golden). SLUICE_UPSTREAM_SOURCE names upstream's source.
#include <gmock/gmock.h>

#include <cstdlib>
#include <random>

#include "tests/db/handlers/outside_project.h"

namespace sluice::test {
namespace {

constexpr int kWorkunits = 1000;

std::vector<std::string> differing(const Table& found, const Table& expected) {
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < std::max(found.size(), expected.size()); ++i) {
        const bool both = i < found.size() && i < expected.size();
        if (both && found[i] == expected[i]) continue;
        lines.emplace_back(both ? "" : "missing");
        for (const Table* table : {&found, &expected})
            for (const std::string& cell : i < table->size() ? (*table)[i] : std::vector<std::string>{})
                lines.back() += (&cell == &(*table)[i][0] ? " | " : " ") + cell;
    }
    return lines;
}

class UpstreamSamples : public OutsideProject {
  protected:
    /// bin/up_NAME of sched/NAME.cpp.
    void build(const fs::path& upstream) {
        std::string list =
            "cmake_minimum_required(VERSION 3.16)\nproject(samples CXX)\n"
            "find_package(Sluice REQUIRED COMPONENTS Validator Assimilator)\n";
        for (const auto& [name, kind] : kSamples) {
            // Alone in a folder: beside it lie upstream's own headers.
            const std::string file = std::string(name) + ".cpp";
            source_.write(file, read_file(upstream / "sched" / file).value());
            list += "add_executable(up_" + std::string(name) + " " + file + ")\ntarget_link_libraries(up_" + name +
                    " Sluice::" + kind + ")\n";
        }
        source_.write("CMakeLists.txt", list);
        const RunResult r = type(
            "cmake -S . -B build -DCMAKE_PREFIX_PATH=$SLUICE\ncmake --build build -- -j2\ncp build/up_* $PROJECT/bin/",
            source_.path());
        ASSERT_EQ(r.status, 0) << r.out << r.err;
    }
    /// One to four results each, most of them alike; some without their file, some that fail, some that come late.
    void make_jobs() {
        std::mt19937 rng(29);
        const auto one_in = [&](unsigned n) { return rng() % n == 0; };
        stage("input");
        std::string lines;
        for (int i = 1; i <= kWorkunits; ++i) lines += "--wu_name w" + std::to_string(i) + " input\n";
        ASSERT_EQ(run_program({"create_work", "--appname", "a", "--max_success_results", "5", "--max_total_results",
                               "9", "--rsc_fpops_est", "1e12", "--stdin"},
                              lines)
                      .status,
                  0);
        db_.execute(Sql("UPDATE workunit SET need_validate=1, min_quorum=1+id%3, target_nresults=1+id%3"));
        Id id = 0;
        // A quorum of one has one result: of several our bitwise validator takes the most frequent, upstream the first.
        db_.execute(Sql("START TRANSACTION"));
        for (Id wu = 1; wu <= kWorkunits; ++wu)
            for (int n = wu % 3 == 0 && wu % 10 != 0 ? 1 : 1 + static_cast<int>(rng() % 4), i = 0; i < n; ++i) {
                returned(++id, wu, 1 + static_cast<Id>(rng() % 50), one_in(5) ? "other" : "same", 50 + rng() % 100);
                if (one_in(60)) fs::remove(fanout_path(project_ / "upload", "w_" + std::to_string(id) + "_r1_0", 1024));
                if (one_in(20)) db_.execute(Sql("UPDATE result SET outcome=3 WHERE id=") << id);
                if (one_in(2)) db_.execute(Sql("UPDATE result SET stderr_out='all well' WHERE id=") << id);
                if (i == 0 && wu % 10 == 0)
                    db_.execute(
                        Sql("UPDATE workunit w, result r SET w.canonical_resultid=r.id, w.canonical_credit=7, "
                            "r.validate_state=1, r.outcome=1, r.granted_credit=7 WHERE w.id=r.workunitid AND r.id=")
                        << id);
            }
        db_.execute(Sql("COMMIT"));
        db_.execute(Sql("SET sql_mode=''"));
        for (Id host = 1; host <= 50; ++host)
            db_.execute(Sql("INSERT IGNORE INTO host (id, userid, create_time) VALUES (")
                        << host << "," << host << ",0)");
        db_.execute(Sql("CREATE OR REPLACE TABLE workunit_was SELECT * FROM workunit"));
        db_.execute(Sql("CREATE OR REPLACE TABLE result_was SELECT * FROM result"));
        db_.execute(Sql("CREATE OR REPLACE TABLE host_app_version_was SELECT * FROM host_app_version"));
    }
    /// What a validator makes of these jobs: of each result its outcome, state and credit; of workunits the same.
    std::vector<Table> judged_by(std::vector<std::string> args) {
        db_.execute(Sql("REPLACE INTO workunit SELECT * FROM workunit_was"));
        db_.execute(Sql("REPLACE INTO result SELECT * FROM result_was"));
        db_.execute(Sql("REPLACE INTO host_app_version SELECT * FROM host_app_version_was"));
        args.insert(args.end(), {"--app", "a", "--one_pass"});
        const RunResult r = run_own(args);
        EXPECT_EQ(r.status, 0) << r.err;
        return {
            rows_of(db_, Sql("SELECT id, outcome, validate_state, ROUND(granted_credit,6) FROM result ORDER BY id"), 4),
            rows_of(db_,
                    Sql("SELECT id, canonical_resultid, ROUND(canonical_credit,6), error_mask, assimilate_state, "
                        "target_nresults FROM workunit ORDER BY id"),
                    6)};
    }
    void ours(const std::string& name) { fs::create_symlink(fs::path(SLUICE_BIN) / name, project_ / "bin" / name); }
    static constexpr std::pair<const char*, const char*> kSamples[] = {{"sample_bitwise_validator", "Validator"},
                                                                       {"sample_trivial_validator", "Validator"},
                                                                       {"sample_substr_validator", "Validator"},
                                                                       {"sample_dummy_assimilator", "Assimilator"}};
};

TEST_F(UpstreamSamples, JudgeAsOurPrograms) {
    const char* upstream = std::getenv("SLUICE_UPSTREAM_SOURCE");
    if (upstream == nullptr)
        GTEST_SKIP()
            << "upstream's sources are not part of this repository: SLUICE_UPSTREAM_SOURCE names the folder of "
               "BOINC's at c5c6cb79";
    build(upstream);
    make_jobs();
    for (const std::string name : {"sample_bitwise_validator", "sample_trivial_validator", "sample_substr_validator"}) {
        ours(name);
        std::vector<std::string> own{name}, theirs{"up_" + name};
        if (name == "sample_substr_validator")
            for (auto* args : {&own, &theirs}) args->insert(args->end(), {"--stderr_string", "well"});
        const auto expected = judged_by(own);
        EXPECT_GT(number_of(db_, Sql("SELECT COUNT(*) FROM result WHERE validate_state IN (1,2)")), 300) << name;
        const auto found = judged_by(theirs);
        EXPECT_THAT(differing(found[0], expected[0]), testing::IsEmpty()) << name;
        EXPECT_THAT(differing(found[1], expected[1]), testing::IsEmpty()) << name;
    }
    const RunResult r = run_own({"up_sample_dummy_assimilator", "--app", "a", "--one_pass"});
    EXPECT_THAT(r.err, testing::HasSubstr("Found canonical result"));
    EXPECT_EQ(count("assimilate_state=1"), 0) << r.err;
}

}  // namespace
}  // namespace sluice::test
