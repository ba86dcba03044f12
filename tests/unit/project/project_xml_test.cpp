// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/project/project_xml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/base/error.h"

namespace sluice {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(ProjectXml, PlatformsAndApps) {
    const ProjectXml found = parse_project_xml(R"(<?xml version="1.0" ?>
<boinc>
  <!-- <app><name>old</name></app> -->
  <platform><name>x86_64-pc-linux-gnu</name><user_friendly_name>Linux &amp; x86</user_friendly_name></platform>
  <app><name>tiles</name><user_friendly_name>Tiles</user_friendly_name><min_version>3</min_version><weight>2.5</weight>
       <beta/><homogeneous_redundancy>1</homogeneous_redundancy><n_size_classes>3</n_size_classes>
       <target_nresults>2</target_nresults><fraction_done_exact>1</fraction_done_exact></app>
  <app><name>plain</name></app>
</boinc>)",
                                               "project.xml");
    ASSERT_EQ(found.platforms.size(), 1U);
    EXPECT_EQ(found.platforms[0].name, "x86_64-pc-linux-gnu");
    EXPECT_EQ(found.platforms[0].user_friendly_name, "Linux & x86");
    ASSERT_EQ(found.apps.size(), 2U);
    const App& tiles = found.apps[0];
    EXPECT_EQ(tiles.min_version, 3);
    EXPECT_DOUBLE_EQ(tiles.weight, 2.5);
    EXPECT_TRUE(tiles.beta && tiles.fraction_done_exact);
    EXPECT_FALSE(tiles.non_cpu_intensive || tiles.deprecated);
    EXPECT_EQ(tiles.homogeneous_redundancy, HrType::kFine);
    EXPECT_EQ(tiles.n_size_classes, 3);
    EXPECT_EQ(tiles.target_nresults, 2);
    EXPECT_EQ(found.apps[1].user_friendly_name, "plain");
    EXPECT_DOUBLE_EQ(found.apps[1].weight, 1);
}

TEST(ProjectXml, TheSameRowMayStandThereTwice) {
    const ProjectXml found = parse_project_xml(
        "<boinc><app><name>a</name><weight>2</weight></app><app><name>a</name> <weight> 2 </weight></app></boinc>",
        "p");
    EXPECT_EQ(found.apps.size(), 1U);
}

struct BadXml {
    const char* text;
    const char* problem;
};
class BadProjectXml : public testing::TestWithParam<BadXml> {};
TEST_P(BadProjectXml, IsAnErrorThatNamesWhat) {
    try {
        parse_project_xml(GetParam().text, "project.xml");
        FAIL() << GetParam().text;
    } catch (const ConfigError& error) {
        EXPECT_THAT(error.what(), AllOf(HasSubstr("project.xml"), HasSubstr(GetParam().problem)));
    }
}
INSTANTIATE_TEST_SUITE_P(
    Kinds, BadProjectXml,
    testing::Values(BadXml{"", "<boinc>"}, BadXml{"<boinc><app><name>a</name></boinc>", "</app>"},
                    BadXml{"<boinc><app></app></boinc>", "<name>"},
                    BadXml{"<boinc><app><name>a b</name></app></boinc>", "blanks"},
                    BadXml{"<boinc><app><name>../x</name></app></boinc>", "slashes"},
                    BadXml{"<boinc><application><name>a</name></application></boinc>", "application"},
                    BadXml{"<boinc><app><name>a</name><wieght>1</wieght></app></boinc>", "wieght"},
                    BadXml{"<boinc><app><name>a</name><weight>heavy</weight></app></boinc>", "heavy"},
                    BadXml{"<boinc><app><name>a</name><weight>-1</weight></app></boinc>", "from 0"},
                    BadXml{"<boinc><app><name>a</name><homogeneous_redundancy>3</homogeneous_redundancy></app></boinc>",
                           "from 0 to 2"},
                    BadXml{"<boinc><app><name>a</name><beta>yes</beta></app></boinc>", "yes"},
                    BadXml{"<boinc><app><name>a</name><user_friendly_name>B</user_friendly_name></app>"
                           "<app><name>a</name><user_friendly_name>A</user_friendly_name></app></boinc>",
                           "<app> a is listed twice"},
                    BadXml{"<boinc><app><name>a</name></app><app><name>A</name><beta/></app></boinc>", "listed twice"},
                    BadXml{"<boinc><platform><name>p</name></platform><platform><name>p</name>"
                           "<deprecated>1</deprecated></platform></boinc>",
                           "<platform> p is listed twice"}));

}  // namespace
}  // namespace sluice
