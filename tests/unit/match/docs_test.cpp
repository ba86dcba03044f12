// SPDX-License-Identifier: LGPL-3.0-or-later
// The pages about policies say what the tables say, every policy has its file, its test and its row, and every sentence
// of the seeds points to a test that exists. SLUICE_UPDATE_DOCS=1 writes docs/policies.md anew.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "sluice/base/files.h"
#include "sluice/match/policies.h"
#include "tests/support/paths.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;
const fs::path kSource = sluice::test::source_dir();

std::string text_of(const fs::path& file) { return read_file(file).value_or(""); }

std::string all_tests() {
    std::string all;
    for (const char* folder : {"tests/unit/match", "tests/scenario/match"})
        for (const auto& f : fs::directory_iterator(kSource / folder))
            if (f.path().extension() == ".cpp" && f.path().filename() != "docs_test.cpp") all += text_of(f.path());
    return all;
}

const char* folder_of(PolicyKind kind) {
    switch (kind) {
        case PolicyKind::kFast: return "fast";
        case PolicyKind::kSet: return "set";
        case PolicyKind::kSlow: return "slow";
        default: return "score";
    }
}

std::string number(double v) {
    std::ostringstream out;
    out << v;
    return out.str();
}

std::string policies_page() {
    std::ostringstream out;
    out << "# Policies of matchmaking\n\n"
           "For the admin who asks why a job was refused, or what orders jobs. `match_test` with `SLUICE_UPDATE_DOCS=1` generates this\n"
           "page. To add a policy: [adding_a_policy.md](adding_a_policy.md).\n\n"
           "1. A scan of the job array from a random slot finds candidates: jobs that pass the *fast* checks.\n"
           "2. Each candidate gets a band of the order of *shares*, and a score: the sum of weight x value of the *score* terms.\n"
           "3. The scheduler takes candidates band by band, by falling score. It sends those that pass the *set* checks, and then\n"
           "   the *slow* checks, until the request is satisfied.\n";
    const std::pair<PolicyKind, const char*> parts[] = {
        {PolicyKind::kFast, "Fast checks, in order of evaluation: without the database"},
        {PolicyKind::kSet, "Set checks, in order of evaluation: with the jobs that this reply already holds"},
        {PolicyKind::kSlow, "Slow checks, in order of evaluation: what the database says now"}};
    for (const auto& [kind, title] : parts) {
        out << "\n## " << title << "\n\n| Check | Rule |\n|---|---|\n";
        for (const PolicyInfo& p : policy_infos())
            if (p.kind == kind) out << "| `" << p.name << "` | " << p.doc << " |\n";
    }
    out << "\n## The order of shares, before all scores\n\n"
           "Where `<share_rule>` is on ([batches.md](batches.md)), a job of a lower band goes before all jobs of higher bands.\n"
           "Within a band the score decides.\n\n"
           "- Band 0 begins with the least logical end time of the batches whose jobs can go to the host. It holds all that are at\n"
           "  most 6 hours of the whole project behind it. The next band begins with the least of the rest.\n"
           "- Jobs without a batch are in band 0. Batches whose users have no quota are in the last band.\n"
           "- In `<share_floor>` of the requests a user is drawn by quota, and his jobs come first.\n"
           "- `<score_weights><share>` is ignored, with a warning.\n"
           "\n## Score terms\n\nWeights by `<compat_level>`; `<score_weights><NAME>W</NAME></score_weights>` in config.xml "
           "overrides them.\n\n| Term | Weight, level 0 | Weight, level 1 | Value |\n|---|---|---|---|\n";
    for (const PolicyInfo& p : policy_infos())
        if (p.kind == PolicyKind::kScore)
            out << "| `" << p.name << "` | " << number(p.weight_level0) << " | " << number(p.weight_level1) << " | "
                << p.doc << " |\n";
    out << "\n## Reasons: why a job was not sent, and what an admin can do\n\n| Reason, unit | What to do |\n|---|---|\n";
    for (int r = 1; r < static_cast<int>(Reason::kCount); ++r) {
        const auto reason = static_cast<Reason>(r);
        const std::string unit = reason_unit(reason);
        out << "| `" << reason_name(reason) << "`" << (unit.empty() ? "" : ", " + unit) << " | "
            << reason_advice(reason) << " |\n";
    }
    return out.str();
}

TEST(Docs, PoliciesPageIsWhatTheTablesSay) {
    const fs::path page = kSource / "docs/policies.md";
    if (std::getenv("SLUICE_UPDATE_DOCS") && !(std::ofstream(page) << policies_page()))
        FAIL() << page
               << " can't be written: a test that root starts goes on as another account, unless SLUICE_ALLOW_ROOT=1";
    EXPECT_EQ(text_of(page), policies_page()) << "run match_test once with SLUICE_UPDATE_DOCS=1";
}

TEST(Docs, EveryPolicyIsOneFileWithItsRow) {
    std::set<std::string> rows, files;
    for (const PolicyInfo& p : policy_infos()) rows.insert(std::string(folder_of(p.kind)) + "/" + p.name + ".cpp");
    for (const char* folder : {"fast", "set", "slow", "score"})
        for (const auto& f : fs::directory_iterator(kSource / "sched/match" / folder))
            files.insert(std::string(folder) + "/" + f.path().filename().string());
    EXPECT_EQ(rows, files);
}

TEST(Docs, EveryReasonOfPolicyIsPlantedInTest) {
    const std::string tests = all_tests();
    std::set<std::string> reasons;
    const std::regex name("Reason::(k[A-Za-z]+)");
    for (const auto& f : fs::recursive_directory_iterator(kSource / "sched/match")) {
        if (f.path().extension() != ".cpp" || f.path().filename() == "reasons.cpp") continue;
        const std::string text = text_of(f.path());
        for (std::sregex_iterator i(text.begin(), text.end(), name), end; i != end; ++i) reasons.insert((*i)[1]);
    }
    EXPECT_GT(reasons.size(), 35u);
    for (const std::string& r : reasons)
        EXPECT_TRUE(std::regex_search(tests, std::regex("Reason::" + r + "\\b"))) << r << " occurs in no test";
}

TEST(Docs, SentencesOfSeedsPointToTestsThatExist) {
    const std::string page = text_of(kSource / "docs/seeds_match.md"),
                      tests = all_tests() + text_of(kSource / "tests/db/explain/starvation_test.cpp");
    std::set<std::string> named;
    const std::regex link("`([A-Za-z0-9]+)\\.([A-Za-z0-9]+)`");
    for (std::sregex_iterator i(page.begin(), page.end(), link), end; i != end; ++i) {
        named.insert((*i)[2]);
        const std::regex test("TEST(_F)?\\(" + (*i)[1].str() + ", " + (*i)[2].str() + "\\)");
        EXPECT_TRUE(std::regex_search(tests, test)) << (*i)[0];
    }
    EXPECT_GT(named.size(), 40u);
    // And the other way round: a scenario that no sentence asks for is in the wrong place.
    std::string scenarios;
    for (const auto& f : fs::directory_iterator(kSource / "tests/scenario/match"))
        if (f.path().extension() == ".cpp") scenarios += text_of(f.path());
    const std::regex test("TEST_F\\([A-Za-z0-9]+, ([A-Za-z0-9]+)\\)");
    for (std::sregex_iterator i(scenarios.begin(), scenarios.end(), test), end; i != end; ++i)
        EXPECT_TRUE(named.contains((*i)[1])) << (*i)[1] << " is not in docs/seeds_match.md";
}

}  // namespace
}  // namespace sluice::test
