// SPDX-License-Identifier: LGPL-3.0-or-later
// Decisions that upstream's programs made on made-up cases: ours are the same, but for those that differences.txt
// lists. upstream_test (tests/db/upstream) recorded them, and compares anew where upstream's programs are at hand.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "sluice/base/log.h"
#include "tests/support/paths.h"
#include "tests/unit/upstream/case_records.h"

namespace sluice::test {
namespace {

constexpr int kLeastCases = 2000;
const std::string kFolder = source_dir() + "/tests/unit/upstream/";

/// Lines "WORLD REQUEST ROW": the beginning of the row of docs/compat.md that explains the difference, or of several,
/// with " + " between them.
std::map<std::pair<std::uint64_t, int>, std::string> listed_differences() {
    std::map<std::pair<std::uint64_t, int>, std::string> all;
    std::ifstream in(kFolder + "differences.txt");
    for (std::string line; std::getline(in, line);) {
        if (line.empty() || line[0] == '#') continue;
        std::istringstream parts(line);
        std::uint64_t world = 0;
        int request = 0;
        parts >> world >> request >> std::ws;
        std::getline(parts, all[{world, request}]);
    }
    return all;
}

std::string text_of(const std::string& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

TEST(RecordedDecisions, OursAreUpstreams) {
    log_set_level(LogLevel::kCritical);
    const CaseRecords records = read_case_records(kFolder + "decisions.txt");
    const auto listed = listed_differences();
    int cases = 0, with_jobs = 0;
    std::size_t found = 0;
    std::string update;
    for (const auto& [seed, world] : records) {
        CaseReplay replay(seed);
        for (const auto& [n, recorded] : world) {
            const std::string differs = difference(replay.decide(n, 1), recorded);
            const bool expected = listed.count({seed, n}) > 0;
            EXPECT_EQ(differs.empty(), !expected) << "world " << seed << " request " << n << ": " << differs;
            found += expected ? 1 : 0;
            if (!differs.empty()) {
                const std::string row = replay.explanation(n, recorded);
                if (expected) {
                    EXPECT_EQ(row, listed.at({seed, n})) << "world " << seed << " request " << n << ": " << differs;
                }
                update += std::to_string(seed) + " " + std::to_string(n) + " " + row + "\n";
            }
            replay.apply(n, recorded);
            ++cases;
            with_jobs += recorded.jobs.empty() ? 0 : 1;
        }
    }
    EXPECT_EQ(found, listed.size()) << "differences.txt lists cases that are not recorded";
    EXPECT_GE(cases, kLeastCases);
    EXPECT_GT(with_jobs, cases / 3);
    if (std::getenv("SLUICE_UPDATE_DIFFERENCES"))
        std::ofstream(kFolder + "differences.txt")
            << "# WORLD REQUEST ROW: cases of decisions.txt that we decide otherwise, and the rows of docs/compat.md that say why.\n"
            << update;
}

TEST(RecordedDecisions, DifferencesNameRowsThatExist) {
    const std::string rows = text_of(source_dir() + "/docs/compat.md");
    for (const auto& [at, all] : listed_differences())
        for (std::size_t from = 0, plus = 0; plus != std::string::npos; from = plus + 3) {
            plus = all.find(" + ", from);
            const std::string row = all.substr(from, plus == std::string::npos ? plus : plus - from);
            EXPECT_NE(rows.find("| " + row), std::string::npos)
                << row << " (world " << at.first << " request " << at.second << ")";
        }
}

}  // namespace
}  // namespace sluice::test
