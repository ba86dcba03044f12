// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/assimilator/script.h"

#include <gtest/gtest.h>

#include "sluice/base/error.h"

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

}  // namespace
}  // namespace sluice
