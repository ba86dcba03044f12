// SPDX-License-Identifier: LGPL-3.0-or-later
// Apps with size classes of which a size_regulator or size_census is missing: sluice_options --check says so.
#include "config/options/app_findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Names = std::vector<std::string>;

std::vector<std::string> told(const std::string& daemons_and_tasks, const Names& in_section = {}) {
    std::vector<App> apps(2);
    apps[0].name = "render", apps[0].n_size_classes = 5;
    apps[1].name = "fold", apps[1].n_size_classes = 2;
    const auto entries = parse_daemons_and_tasks("<boinc><config/>" + daemons_and_tasks + "</boinc>", "config.xml");
    return unattended_apps(apps, entries, in_section);
}
std::string started_by(const std::string& command, const std::string& more = "") {
    return "<daemons><daemon><cmd>" + command + "</cmd>" + more + "</daemon></daemons>";
}
const std::string kCensus = "<tasks><task><cmd>size_census</cmd><period>1 day</period></task></tasks>";

TEST(UnattendedApps, EachAppWithoutRegulatorAndTheCensusOnce) {
    EXPECT_THAT(told(""), ElementsAre(HasSubstr("app render has 5 size classes, but no size_regulator"),
                                      HasSubstr("--app_name fold"), HasSubstr("no size_census")));
    EXPECT_THAT(told(started_by("size_regulator --app_name render --lo 1 --hi 2 --sleep_time 5") + kCensus),
                ElementsAre(HasSubstr("app fold has 2")));
    EXPECT_THAT(told(started_by("../bin/size_regulator --app_name render --app_name=fold --lo 1 --hi 2")),
                ElementsAre(HasSubstr("no size_census")));
}

TEST(UnattendedApps, TheSectionCountsIfARegulatorTakesIt) {
    EXPECT_THAT(told(kCensus, {"render", "fold"}), testing::SizeIs(2)) << "nobody reads it";
    EXPECT_THAT(told(started_by("size_regulator") + kCensus, {"render", "fold"}), IsEmpty());
    EXPECT_THAT(told(started_by("size_regulator --app_name fold --lo 1 --hi 2") + kCensus, {"render", "fold"}),
                ElementsAre(HasSubstr("app render")))
        << "with --app_name the section is not read";
}

TEST(UnattendedApps, WhatDoesNotRunDoesNotCount) {
    EXPECT_THAT(told(started_by("size_regulator", "<disabled>1</disabled>") + kCensus, {"render", "fold"}),
                testing::SizeIs(2));
    EXPECT_THAT(told(started_by("size_regulator 'x") + kCensus, {"render", "fold"}), testing::SizeIs(2));
    EXPECT_THAT(told(started_by("size_regulator") +
                         "<tasks><task><cmd>size_census --advise</cmd><period>1 day</period></task></tasks>",
                     {"render", "fold"}),
                ElementsAre(HasSubstr("no size_census")))
        << "advice is no census";
    EXPECT_THAT(told(started_by("size_regulator") +
                         "<tasks><task><cmd>run_in_ops ./size_census.php</cmd><period>1 day</period></task></tasks>",
                     {"render", "fold"}),
                IsEmpty())
        << "upstream's";
}

TEST(UnattendedApps, ProjectsWithoutSizeClassesHearNothing) { EXPECT_THAT(unattended_apps({}, {}, {}), IsEmpty()); }

}  // namespace
}  // namespace sluice
