// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/adopt/config_edit.h"

#include <gtest/gtest.h>

#include <array>

#include "sluice/base/error.h"

namespace sluice {
namespace {

constexpr const char* kConfig = R"(<?xml version="1.0" ?>
<boinc>
  <!-- <config><maintenance_delay>7</maintenance_delay></config> <daemons></daemons> -->
  <config>
    <db_name>tiles</db_name>	<!-- kept -->
  </config>
  <daemons>
    <daemon>
      <cmd>feeder -d 3</cmd>
    </daemon>
  </daemons>
</boinc>
)";

TEST(ConfigEdit, AnOptionComesAndGoesWithoutATrace) {
    EXPECT_EQ(option_text(kConfig, "maintenance_delay"), std::nullopt) << "what stands in a comment is none";
    const std::string with = with_option(kConfig, "maintenance_delay", "60");
    EXPECT_EQ(option_text(with, "maintenance_delay"), "60");
    EXPECT_NE(with.find("\n      <maintenance_delay>60</maintenance_delay>\n  </config>"), with.npos) << with;
    EXPECT_EQ(with_option(with, "maintenance_delay", std::nullopt), kConfig);
    EXPECT_EQ(with_option(kConfig, "maintenance_delay", std::nullopt), kConfig);
}

TEST(ConfigEdit, AnOptionThatIsThereGetsTheValue) {
    const std::string with = with_option(kConfig, "db_name", "other");
    EXPECT_EQ(option_text(with, "db_name"), "other");
    EXPECT_NE(with.find("<db_name>other</db_name>\t<!-- kept -->"), with.npos) << with;
    EXPECT_EQ(with_option(with, "db_name", "tiles"), kConfig);
}

TEST(ConfigEdit, AnOptionThatSharesItsLineGoesAlone) {
    const std::string one_line = "<boinc><config><a>1</a><maintenance_delay>5</maintenance_delay></config></boinc>";
    EXPECT_EQ(with_option(one_line, "maintenance_delay", std::nullopt), "<boinc><config><a>1</a></config></boinc>");
}

TEST(ConfigEdit, ADaemonComesLastAndGoesCleanly) {
    const std::string with = with_daemon(kConfig, "scheduler --processes 2-4");
    EXPECT_NE(with.find("    </daemon>\n      <daemon><cmd>scheduler --processes 2-4</cmd></daemon>\n  </daemons>"),
              with.npos)
        << with;
    constexpr std::array<std::string_view, 2> kOurs{"gang_hub", "scheduler"};
    EXPECT_EQ(without_daemons(with, kOurs), kConfig);
    EXPECT_EQ(without_daemons(kConfig, kOurs), kConfig);
}

TEST(ConfigEdit, DaemonsOfOneProgramAllGo) {
    constexpr std::array<std::string_view, 1> kFeeder{"feeder"};
    const std::string with = with_daemon(with_daemon(kConfig, "../bin/feeder --mod 2 1"), "feeders");
    const std::string without = without_daemons(with, kFeeder);
    EXPECT_EQ(without.find("<cmd>feeder "), without.npos);
    EXPECT_EQ(without.find("bin/feeder"), without.npos);
    EXPECT_NE(without.find("<cmd>feeders</cmd>"), without.npos) << "another program";
}

TEST(ConfigEdit, AFileWithoutDaemonsGetsTheElement) {
    EXPECT_EQ(with_daemon("<boinc>\n<config></config>\n</boinc>\n", "scheduler"),
              "<boinc>\n<config></config>\n    <daemons><daemon><cmd>scheduler</cmd></daemon></daemons>\n</boinc>\n");
}

TEST(ConfigEdit, StartTagsMayHaveAttributes) {
    const std::string config = "<boinc>\r\n<config version=\"2\">\r\n<a>1</a>\r\n</config>\r\n</boinc>";
    const std::string with = with_option(config, "maintenance_delay", "60");
    EXPECT_EQ(option_text(with, "maintenance_delay"), "60");
    EXPECT_EQ(with_option(with, "maintenance_delay", "60"), with) << "not a second one";
    EXPECT_EQ(with_option(with, "maintenance_delay", std::nullopt), config);
    EXPECT_EQ(option_text("<config_aux><a>7</a></config_aux><config/><config\t><a>1</a></config>", "a"), "1");
}

TEST(ConfigEdit, OfAnOptionGivenTwiceTheLastCounts) {
    const std::string config = "<config><d>1</d><d>2</d></config><config><d>3</d></config>";
    EXPECT_EQ(option_text(config, "d"), "2");
    EXPECT_EQ(with_option(config, "d", "60"), "<config><d>1</d><d>60</d></config><config><d>3</d></config>");
}

TEST(ConfigEdit, TagsAndCommentsInCdataAreText) {
    const std::string config =
        "<boinc><config><a><![CDATA[</config> <!-- ]]></a></config>\n<daemons>\n<daemon><cmd>x</cmd></daemon>\n"
        "</daemons></boinc>";
    EXPECT_EQ(option_text(config, "a"), "<![CDATA[</config> <!-- ]]>");
    EXPECT_EQ(with_option(with_option(config, "b", "1"), "a", "2").find("CDATA"), std::string::npos);
    EXPECT_NE(with_daemon(config, "scheduler").find("<cmd>scheduler</cmd></daemon>\n</daemons>"), std::string::npos);
}

TEST(ConfigEdit, EmptyDaemonsAreFilled) {
    EXPECT_EQ(with_daemon("<boinc><daemons/></boinc>", "scheduler"),
              "<boinc><daemons><daemon><cmd>scheduler</cmd></daemon></daemons></boinc>");
}

TEST(ConfigEdit, AFileWithoutItsEndIsRefused) {
    EXPECT_THROW(with_option("<boinc>", "a", "1"), ConfigError);
    EXPECT_THROW(with_daemon("<config>", "scheduler"), ConfigError);
    EXPECT_EQ(without_daemons("<daemon><cmd>scheduler", std::array<std::string_view, 1>{"scheduler"}),
              "<daemon><cmd>scheduler");
    EXPECT_EQ(option_text("<config><a>1", "a"), std::nullopt);
    EXPECT_EQ(option_text("<!-- <config>", "a"), std::nullopt);
}

}  // namespace
}  // namespace sluice
