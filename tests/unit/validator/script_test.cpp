// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/assimilator/script.h"

#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "daemons/validator/json_script.h"
#include "daemons/validator/script_judge.h"
#include "sluice/base/error.h"
#include "tests/support/fake_clock.h"

namespace sluice {
namespace {

FinishedWorkunit job() {
    FinishedWorkunit a;
    a.wu.id = 5;
    a.wu.name = "w5";
    a.wu.batch = 3;
    a.canonical = Result{};
    a.canonical->id = 50;
    a.canonical->elapsed_time = 1.5;
    a.files = {{"p0", "out", false, false, "/up/p0"}, {"p1", "log", false, false, "/up/p1"}};
    return a;
}
using Words = std::vector<std::string>;

TEST(AssimilatorScript, DefaultTokens) {
    EXPECT_EQ(script_arguments(parse_script_option("collect"), "/p/bin", job()),
              (Words{"/p/bin/collect", "5", "/up/p0", "/up/p1"}));
}
TEST(AssimilatorScript, EveryToken) {
    EXPECT_EQ(
        script_arguments(parse_script_option(" s  files2 wu_id wu_name result_id runtime batch_id "), "/p/bin", job()),
        (Words{"/p/bin/s", "/up/p0", "out", "/up/p1", "log", "5", "w5", "50", "1.500000", "3"}));
}
TEST(AssimilatorScript, AFailedWorkunit) {
    auto a = job();
    a.canonical.reset();
    a.wu.error_mask = 2;
    EXPECT_EQ(script_arguments(parse_script_option("s files"), "/p/bin", a),
              (Words{"/p/bin/s", "--error", "2", "w5", "5", "3"}));
}
TEST(AssimilatorScript, UnknownTokenIsRefused) {
    EXPECT_THROW(parse_script_option("s fils"), ConfigError);
    EXPECT_THROW(parse_script_option("  "), ConfigError);
}

TEST(AssimilatorScript, TenMinutesAreTheLimitOfEachScript) {
    EXPECT_EQ(JudgingScripts{}.time_limit, 600);
    EXPECT_EQ(JsonScriptOptions{}.time_limit, 600);
}

/// What `handler` does with seven workunits: how many at once.
std::vector<std::size_t> groups_of(AssimilateHandler& handler) {
    const std::vector<FinishedWorkunit> seven(7);
    std::vector<std::size_t> groups;
    for (std::size_t done = 0; done < seven.size(); done += groups.back())
        groups.push_back(handler.handle(std::span(seven).subspan(done)).size());
    return groups;
}

TEST(AssimilatorScript, QuickCallsAreMarkedTogether) {
    test::FakeClock clock;
    ScriptHandler handler("true wu_id", "/bin", 0, clock);
    EXPECT_EQ(groups_of(handler), (std::vector<std::size_t>{1, 2, 4}));
}

TEST(AssimilatorScript, AfterSlowOnesEachIsMarkedAtOnce) {
    struct Ticking final : Clock {
        double now() const override { return at += 0.3; }
        mutable double at = 0;
    } clock;
    ScriptHandler handler("true wu_id", "/bin", 0, clock);
    EXPECT_EQ(groups_of(handler), std::vector<std::size_t>(7, 1));
}

TEST(AssimilatorOneByOne, FullDiskKeepsNoOtherWaiting) {
    struct Keeps final : OneByOneHandler {
        using OneByOneHandler::OneByOneHandler;
        std::string name() const override { return "keeps"; }
        std::optional<std::string> store(const FinishedWorkunit& workunit) override {
            if (workunit.wu.id == 2) throw FileError("the disk is full");
            if (workunit.wu.id == 5) throw std::runtime_error("no\nmemory");
            return "";
        }
    };
    test::FakeClock clock;
    Keeps handler(clock);
    std::vector<FinishedWorkunit> six(6);
    for (std::size_t i = 0; i < six.size(); ++i) six[i].wu.id = static_cast<Id>(i) + 1;
    EXPECT_EQ(handler.handle(six), (Words{""})) << "the first by itself";
    EXPECT_EQ(handler.handle(std::span(six).subspan(1)), (Words{"the disk is full", ""}));
    EXPECT_EQ(handler.handle(std::span(six).subspan(3)), (Words{"", "no memory", ""})) << "whatever it throws";
}

}  // namespace
}  // namespace sluice
