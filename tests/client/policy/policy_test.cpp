// SPDX-License-Identifier: LGPL-3.0-or-later
// Debian's boinc-client is put into each state of states.json, and decides as `sluice_sim client` says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/client/policy/policy_client.h"
#include "tests/client/policy/said_alike.h"
#include "tests/support/paths.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

using Json = nlohmann::ordered_json;

const std::string kStates = source_dir() + "/tests/client/policy/states.json";

const Json& states() {
    static const Json all = Json::parse(std::ifstream(kStates))["states"];
    return all;
}

/// Every so many-th client is asked for its client_state.xml, too: it takes a second or more to write that.
constexpr std::size_t kEachOf = 5;

Json ours(const std::string& file) {
    const RunResult result = run({binary_dir() + "/bin/sluice_sim", "client", file});
    if (result.status != 0) throw std::runtime_error(result.err);
    return Json::parse(result.out);
}

/// Runs all clients once, some at a time: each does little but wait.
class Lab {
  public:
    static const Lab& shared() {
        static const Lab lab;
        return lab;
    }
    const Json& said(std::size_t i) const { return said_[i]; }
    const std::string& trouble(std::size_t i) const { return trouble_[i]; }
    /// What sluice_sim makes of the client's own client_state.xml; only of some states (null for the others).
    const Json& from_state_file(std::size_t i) const { return from_state_file_[i]; }

  private:
    Lab() : said_(states().size()), from_state_file_(states().size()), trouble_(states().size()) {
        constexpr std::size_t kAtOnce = 6;
        for (std::size_t first = 0; first < states().size(); first += kAtOnce) {
            const std::size_t end = std::min(first + kAtOnce, states().size());
            std::vector<std::unique_ptr<PolicyClient>> clients;
            for (std::size_t i = first; i < end; ++i)
                clients.push_back(
                    std::make_unique<PolicyClient>(sink_, "s" + std::to_string(i), states()[i]["state"].dump()));
            for (std::size_t i = first; i < end; ++i) {
                try {
                    said_[i] = Json::parse(clients[i - first]->said());
                    if (i % kEachOf == 0) from_state_file_[i] = ours(clients[i - first]->state_file().string());
                } catch (const std::exception& e) {
                    trouble_[i] = e.what();
                }
            }
        }
        if (const char* file = std::getenv("SLUICE_UPDATE_CLIENT_STATES")) record(file);
    }

    /// The states anew with what the clients said.
    void record(const char* file) const {
        std::string text = "{\"states\": [\n";
        for (std::size_t i = 0; i < states().size(); ++i) {
            Json entry = states()[i];
            entry["said"] = said_[i];
            text += entry.dump() + (i + 1 < states().size() ? ",\n" : "\n");
        }
        std::ofstream(file) << text << "]}\n";
    }

    RequestSink sink_;
    std::vector<Json> said_, from_state_file_;
    std::vector<std::string> trouble_;
};

class AgainstTheRealClient : public testing::TestWithParam<std::size_t> {};

TEST_P(AgainstTheRealClient, DecidesAlike) {
    const std::size_t i = GetParam();
    ASSERT_EQ(Lab::shared().trouble(i), "");
    const TempDir folder;
    const Json mine = ours(folder.write("state.json", states()[i]["state"].dump()).string());
    const Json& real = Lab::shared().said(i);
    EXPECT_THAT(unexplained(states()[i], differences(mine, real)), testing::IsEmpty()) << mine << real;
}

/// The client has gone on for some seconds since it decided, so times are compared with that much more room; so much
/// done is known of a job only at its checkpoints, which these jobs never write.
TEST(ClientStateFile, OfARunningClientGivesItsDecisions) {
    int compared = 0;
    for (std::size_t i = 0; i < states().size(); i += kEachOf) {
        SCOPED_TRACE(states()[i]["name"]);
        ASSERT_EQ(Lab::shared().trouble(i), "");
        Json real = Lab::shared().said(i);
        // Which jobs have started by now is known to the one, not to the other.
        EXPECT_THAT(unexplained(states()[i], differences(Lab::shared().from_state_file(i), real)), testing::IsEmpty())
            << Lab::shared().from_state_file(i) << real;
        ++compared;
    }
    EXPECT_GE(compared, 10);
}

INSTANTIATE_TEST_SUITE_P(States, AgainstTheRealClient, testing::Range<std::size_t>(0, states().size()),
                         [](const auto& which) { return states()[which.param]["name"].template get<std::string>(); });

}  // namespace
}  // namespace sluice::test
