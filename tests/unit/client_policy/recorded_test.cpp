// SPDX-License-Identifier: LGPL-3.0-or-later
// What Debian's boinc-client 7.20.5 made of each state of tests/client/policy/states.json, recorded there
// (client_policy_real_test asks the real one anew): the policies decide alike.
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include "sched/sim/client_state_file.h"
#include "tests/client/policy/said_alike.h"
#include "tests/support/paths.h"

#include <nlohmann/json.hpp>

namespace sluice::test {
namespace {

using Json = nlohmann::ordered_json;

const Json& states() {
    static const Json all = Json::parse(std::ifstream(source_dir() + "/tests/client/policy/states.json"))["states"];
    return all;
}

class RecordedClient : public testing::TestWithParam<std::size_t> {};

TEST_P(RecordedClient, DecidesAlike) {
    const Json& entry = states()[GetParam()];
    const auto file = read_client_json(json::parse(entry["state"].dump(), "state"));
    const Json ours = Json::parse(client_decisions(file));
    EXPECT_THAT(unexplained(entry, differences(ours, entry["said"])), testing::IsEmpty()) << ours << entry["said"];
}

INSTANTIATE_TEST_SUITE_P(States, RecordedClient, testing::Range<std::size_t>(0, states().size()),
                         [](const auto& which) { return states()[which.param]["name"].template get<std::string>(); });

std::string text_of(const std::filesystem::path& file) {
    std::ifstream in(std::filesystem::path(source_dir()) / file);
    EXPECT_TRUE(in) << file;
    return {std::istreambuf_iterator<char>(in), {}};
}

std::set<std::string> tests_in(const std::filesystem::path& folder) {
    std::set<std::string> names;
    const std::regex test(R"(TEST(?:_F|_P)?\((\w+),\s*(\w+)\))");
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(source_dir()) / folder)) {
        if (entry.path().extension() != ".cpp") continue;
        const std::string text = text_of(entry.path());
        for (std::sregex_iterator i(text.begin(), text.end(), test), end; i != end; ++i)
            names.insert((*i)[1].str() + "." + (*i)[2].str());
    }
    return names;
}

TEST(SeedOfTheClient, ThePageNamesExistingTests) {
    const std::string page = text_of("docs/seeds_client.md");
    std::set<std::string> tests = tests_in("tests/unit/client_policy"), named;
    const std::set<std::string> policies = tests;
    tests.merge(tests_in("tests/client/policy"));
    const std::regex name(R"(`([A-Z]\w+\.[A-Z]\w+)`)");
    for (std::sregex_iterator i(page.begin(), page.end(), name), end; i != end; ++i) {
        named.insert((*i)[1]);
        EXPECT_TRUE(tests.contains((*i)[1])) << (*i)[1] << " is named but is no test";
    }
    EXPECT_GE(named.size(), 40u);
    for (const std::string& test : policies) {
        const std::string suite = test.substr(0, test.find('.'));
        // What reads files and this page is no policy.
        if (suite.starts_with("Client") || suite.starts_with("StateFile") || suite.starts_with("Recorded") ||
            suite.starts_with("SeedOf"))
            continue;
        EXPECT_TRUE(named.contains(test)) << test << " is not in docs/seeds_client.md";
    }
}

TEST(RecordedStates, AreFortyAndMoreWithExceptionsNamed) {
    EXPECT_GE(states().size(), 40u);
    const std::string page = text_of("docs/seeds_client.md");
    for (const Json& entry : states()) {
        if (!entry.contains("exceptions")) continue;
        EXPECT_NE(page.find(entry["name"].get<std::string>()), std::string::npos)
            << entry["name"] << " is an exception that docs/seeds_client.md does not name";
    }
}

}  // namespace
}  // namespace sluice::test
