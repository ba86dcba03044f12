// SPDX-License-Identifier: LGPL-3.0-or-later
// <daemons> and <tasks> of config.xml.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/load.h"
#include "sluice/base/error.h"

namespace sluice {
namespace {

using testing::HasSubstr;

DaemonsAndTasks parse_list(const std::string& text) {
    return parse_daemons_and_tasks("<boinc><config><host>h</host><daemons_like/></config>" + text + "</boinc>",
                                   "config.xml");
}
TaskEntry task_with(const std::string& children) {
    return parse_list("<tasks><task><cmd>t</cmd>" + children + "</task></tasks>").tasks.at(0);
}

TEST(Daemons, EveryChildIsRead) {
    const DaemonsAndTasks found = parse_list(R"(
<daemons>
  <daemon><cmd> feeder -d 3 --sql "a &amp; b" </cmd></daemon>
  <!-- <daemon><cmd>commented out</cmd></daemon> -->
  <daemon>
    <cmd>transitioner --mod 2 0</cmd><output>t0.log</output><pid_file>t0.pid</pid_file><lock_file>t0.lock</lock_file>
    <host>other</host><use_shell>1</use_shell><silent_start>1</silent_start><disabled>1</disabled>
  </daemon>
</daemons>)");
    ASSERT_EQ(found.daemons.size(), 2U);
    EXPECT_EQ(found.daemons[0].cmd, "feeder -d 3 --sql \"a & b\"");
    EXPECT_FALSE(found.daemons[0].disabled || found.daemons[0].use_shell || found.daemons[0].silent_start);
    const DaemonEntry& second = found.daemons[1];
    EXPECT_EQ(second.output, "t0.log");
    EXPECT_EQ(second.pid_file, "t0.pid");
    EXPECT_EQ(second.lock_file, "t0.lock");
    EXPECT_EQ(second.host, "other");
    EXPECT_TRUE(second.disabled && second.use_shell && second.silent_start);
    EXPECT_TRUE(found.tasks.empty());
    EXPECT_TRUE(found.warnings.empty());
}

struct DisabledCase {
    const char* xml;
    bool disabled;
};
class Disabled : public testing::TestWithParam<DisabledCase> {};
TEST_P(Disabled, EmptyElementsDisable) {
    EXPECT_EQ(task_with(std::string("<period>1</period>") + GetParam().xml).disabled, GetParam().disabled);
}
INSTANTIATE_TEST_SUITE_P(Rules, Disabled,
                         testing::Values(DisabledCase{"", false}, DisabledCase{"<disabled>0</disabled>", false},
                                         DisabledCase{"<disabled> 0 </disabled>", false},
                                         DisabledCase{"<disabled>1</disabled>", true},
                                         DisabledCase{"<disabled/>", true}, DisabledCase{"<disabled></disabled>", true},
                                         DisabledCase{"<disabled>yes</disabled>", true}));

struct PeriodCase {
    const char* text;
    double seconds;
};
class Period : public testing::TestWithParam<PeriodCase> {};
TEST_P(Period, HasAUnit) {
    EXPECT_DOUBLE_EQ(task_with(std::string("<period>") + GetParam().text + "</period>").period, GetParam().seconds);
}
INSTANTIATE_TEST_SUITE_P(Units, Period,
                         testing::Values(PeriodCase{"5", 300}, PeriodCase{" 30 sec ", 30}, PeriodCase{"30s", 30},
                                         PeriodCase{"5 min", 300}, PeriodCase{"2 minutes", 120},
                                         PeriodCase{"24 hours", 86400}, PeriodCase{"1 day", 86400},
                                         PeriodCase{"2 Weeks", 1209600}, PeriodCase{"1.5 h", 5400},
                                         PeriodCase{"1 month", 2592000}));

TEST(Tasks, BadPeriodOrNoCommandCostsThatEntry) {
    for (const char* period :
         {"", "<period></period>", "<period>soon</period>", "<period>0</period>", "<period>-5 min</period>",
          "<period>5 fortnights</period>", "<period>1.2.3 h</period>"}) {
        const DaemonsAndTasks found = parse_list(std::string("<tasks><task><cmd>t</cmd>") + period + "</task></tasks>");
        EXPECT_EQ(found.tasks.at(0).period, 0) << period;
        EXPECT_THAT(found.errors, testing::ElementsAre(testing::AllOf(HasSubstr("config.xml"),
                                                                      HasSubstr("<cmd>t</cmd>"), HasSubstr("period"))))
            << period;
    }
    const DaemonsAndTasks found = parse_list(
        "<daemons><daemon><output>x</output></daemon><daemon><cmd>fine</cmd></daemon></daemons>"
        "<tasks><task><cmd></cmd><period>1</period></task><task><cmd>fine</cmd><period>1 h</period></task></tasks>");
    EXPECT_THAT(found.errors, testing::ElementsAre(HasSubstr("<daemon> with <cmd></cmd>: has no <cmd>"),
                                                   HasSubstr("<task> with <cmd></cmd>: has no <cmd>")));
    EXPECT_EQ(found.daemons.size() + found.tasks.size(), 4U);
    EXPECT_THROW(parse_list("<daemons><daemon><cmd>x</daemon></daemons>"), ConfigError);
}

TEST(Tasks, FlagsAndPlacesAreRead) {
    const TaskEntry task = task_with(
        "<period>1 d</period><output>o</output><lock_file>l</lock_file><host>h</host>"
        "<always_run/><use_shell>0</use_shell>");
    EXPECT_EQ(task.output, "o");
    EXPECT_EQ(task.lock_file, "l");
    EXPECT_EQ(task.host, "h");
    EXPECT_TRUE(task.always_run);
    EXPECT_FALSE(task.use_shell);
}

TEST(Daemons, UnknownElementsAreNamed) {
    const DaemonsAndTasks found = parse_list("<daemons><deamon><cmd>x</cmd></deamon></daemons>");
    EXPECT_TRUE(found.daemons.empty());
    EXPECT_THAT(found.warnings, testing::ElementsAre(HasSubstr("<deamon>")));
}

}  // namespace
}  // namespace sluice
