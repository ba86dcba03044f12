// SPDX-License-Identifier: LGPL-3.0-or-later
// config.xml's lexical rules, resolution of "not given", and messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "config/db_settings.h"
#include "config/option_table.h"
#include "tests/unit/config/parsed_config.h"

namespace sluice {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct IntCase {
    const char* xml;
    int expected;
};
class IntegerText : public testing::TestWithParam<IntCase> {};
TEST_P(IntegerText, ReadsBaseZero) {
    const LoadedConfig loaded = parse(GetParam().xml);
    EXPECT_EQ(loaded.config.report_max, GetParam().expected);
    EXPECT_THAT(loaded.warnings, IsEmpty());
}
INSTANTIATE_TEST_SUITE_P(Rules, IntegerText,
                         testing::Values(IntCase{"", 0}, IntCase{"<report_max>17</report_max>", 17},
                                         IntCase{"<report_max>0x1F</report_max>", 31},
                                         IntCase{"<report_max>010</report_max>", 8},
                                         IntCase{"<report_max>\n   42\t\n</report_max>", 42},
                                         IntCase{"<report_max></report_max>", 0}, IntCase{"<report_max/>", 0},
                                         IntCase{"<report_max>5</report_max><report_max/>", 5},
                                         IntCase{"<report_max>+5</report_max>", 5},
                                         IntCase{"<report_max>1</report_max><report_max>2</report_max>", 2},
                                         IntCase{"<!-- <report_max>9</report_max> --><report_max>3</report_max>", 3},
                                         IntCase{"<report_max><!-- old: 9 -->4</report_max>", 4},
                                         IntCase{"<report_max unit=\"s\">6</report_max>", 6}));

struct BoolCase {
    const char* xml;
    bool expected;
};
class FlagText : public testing::TestWithParam<BoolCase> {};
TEST_P(FlagText, FollowsTheRule) { EXPECT_EQ(parse(GetParam().xml).config.size_classes, GetParam().expected); }
INSTANTIATE_TEST_SUITE_P(Rules, FlagText,
                         testing::Values(BoolCase{"", false}, BoolCase{"<size_classes/>", true},
                                         BoolCase{"<size_classes />", true},
                                         BoolCase{"<size_classes>1</size_classes>", true},
                                         BoolCase{"<size_classes> 1 </size_classes>", true},
                                         BoolCase{"<size_classes>-3</size_classes>", true},
                                         BoolCase{"<size_classes>0</size_classes>", false},
                                         // Upstream can't read a file that holds this.
                                         BoolCase{"<size_classes></size_classes>", false},
                                         BoolCase{"<size_classes/><size_classes>0</size_classes>", false}));

TEST(Load, EmptyPairOfFlagDoesntHideWhatFollows) {
    EXPECT_EQ(parse("<msg_to_host></msg_to_host>\n<report_max>7</report_max>").config.report_max, 7);
}

TEST(Load, TextsAreTrimmedAndDecoded) {
    const ProjectConfig config = parse(
                                     "<long_name>\n  A &amp; B &lt;x&gt; &quot;q&quot; &apos;s&apos;\n</long_name>"
                                     "<db_passwd>p&amp;w</db_passwd>")
                                     .config;
    EXPECT_EQ(config.long_name, "A & B <x> \"q\" 's'");
    EXPECT_EQ(config.db_passwd, "p&w");
}

TEST(Load, NumbersFollowStrtod) {
    EXPECT_DOUBLE_EQ(parse("<next_rpc_delay>1.5e3</next_rpc_delay>").config.next_rpc_delay, 1500);
    EXPECT_DOUBLE_EQ(parse("<next_rpc_delay></next_rpc_delay>").config.next_rpc_delay, 0);
    EXPECT_DOUBLE_EQ(parse("<default_disk_min_free_gb>.25</default_disk_min_free_gb>").config.default_disk_min_free_gb,
                     0.25);
}

// <x/> of a number says nothing at all (upstream); <x></x> is 0.
TEST(Load, ClosedElementOfNumberLeavesDefault) {
    const ProjectConfig closed =
        parse(
            "<max_wus_to_send/><maintenance_delay/><default_disk_min_free_gb /><sched_debug_level/>"
            "<version_select_random_factor/><fuh_debug_level/><dont_search_host_for_user/><max_ncpus/>")
            .config;
    EXPECT_EQ(closed.max_wus_to_send, 10);
    EXPECT_EQ(closed.maintenance_delay, 3600);
    EXPECT_EQ(closed.default_disk_min_free_gb, 1);
    EXPECT_EQ(closed.sched_debug_level, 3);
    EXPECT_EQ(closed.version_select_random_factor, 1);
    EXPECT_EQ(closed.fuh_debug_level, 3);
    EXPECT_EQ(closed.max_ncpus, 64);
    EXPECT_THAT(closed.dont_search_host_for_user, IsEmpty());
    const ProjectConfig empty =
        parse("<maintenance_delay></maintenance_delay><max_wus_to_send></max_wus_to_send>").config;
    EXPECT_EQ(empty.maintenance_delay, 0);
    EXPECT_EQ(empty.max_wus_to_send, 999999);
    EXPECT_EQ(parse("<compat_level>1</compat_level><max_wus_to_send/>").config.max_wus_to_send, 50);
}

TEST(Load, ModesAreOctal) {
    const ProjectConfig config = parse(
                                     "<fuh_set_initial_permission>660</fuh_set_initial_permission>"
                                     "<fuh_set_completed_permission>0644</fuh_set_completed_permission>")
                                     .config;
    EXPECT_EQ(config.fuh_set_initial_permission, 0660);
    EXPECT_EQ(config.fuh_set_completed_permission, 0644);
    EXPECT_EQ(parse("<fuh_set_initial_permission></fuh_set_initial_permission>").config.fuh_set_initial_permission, -1);
    EXPECT_EQ(parse("<fuh_set_completed_permission/>").config.fuh_set_completed_permission, -1);
    EXPECT_THAT(errors_of("<fuh_set_initial_permission>668</fuh_set_initial_permission>"), HasSubstr("octal"));
}

struct BadCase {
    const char* xml;
    const char* value;
    const char* allowed;
};
class BadValue : public testing::TestWithParam<BadCase> {};
TEST_P(BadValue, CostsItsOptionAndOneLine) {
    const LoadedConfig loaded = parse(std::string(GetParam().xml) + "<max_wus_to_send>7</max_wus_to_send>");
    EXPECT_THAT(loaded.errors, ElementsAre(AllOf(HasSubstr("config.xml"), HasSubstr(GetParam().value),
                                                 HasSubstr(GetParam().allowed), HasSubstr("ignored"))));
    ProjectConfig expected = parse("").config;
    expected.max_wus_to_send = 7;
    for (const OptionSection& section : option_sections()) {
        for (const OptionRow& row : section.rows)
            EXPECT_EQ(option_values(row, loaded.config), option_values(row, expected)) << row.tag;
    }
    EXPECT_TRUE(loaded.config.score_weights.empty());
}
INSTANTIATE_TEST_SUITE_P(
    Rules, BadValue,
    testing::Values(BadCase{"<max_ncpus>8 CPUs</max_ncpus>", "<max_ncpus>8 CPUs</max_ncpus>",
                            "whole number from 1 to 2147483647"},
                    BadCase{"<max_ncpus>0</max_ncpus>", "<max_ncpus>0</max_ncpus>", "from 1 to"},
                    BadCase{"<report_max>12abc</report_max>", "12abc", "from 0 to 2147483647"},
                    BadCase{"<report_max>-1</report_max>", "-1", "from 0"},
                    BadCase{"<report_max>1.5</report_max>", "1.5", "whole number"},
                    BadCase{"<report_max>3000000000</report_max>", "3000000000", "2147483647"},
                    BadCase{"<report_max>99999999999999999999999</report_max>", "9999", "2147483647"},
                    BadCase{"<report_max>09</report_max>", "09", "octal"},
                    BadCase{"<size_classes>yes</size_classes>", "<size_classes>yes<", "0 or 1"},
                    BadCase{"<next_rpc_delay>soon</next_rpc_delay>", "soon", "a number from 0"},
                    BadCase{"<next_rpc_delay>nan</next_rpc_delay>", "nan", "a number from 0"},
                    BadCase{"<next_rpc_delay>inf</next_rpc_delay>", "inf", "a number from 0"},
                    BadCase{"<homogeneous_redundancy>3</homogeneous_redundancy>", "3", "from 0 to 2"},
                    BadCase{"<compat_level>2</compat_level>", "compat_level", "from 0 to 1"},
                    BadCase{"<compat_level>new</compat_level>", "new", "from 0 to 1"},
                    BadCase{"<decision_log>some</decision_log>", "some", "off, nowork or all"},
                    BadCase{"<dont_search_host_for_user>bob</dont_search_host_for_user>", "bob", "from 0"},
                    BadCase{"<score_weights><size_class>big</size_class></score_weights>", "big", "number"},
                    BadCase{"<score_weights>5</score_weights>", "score_weights", "elements NAME"},
                    BadCase{"<report_max><x>1</x></report_max>", "report_max", "other elements"},
                    BadCase{"<ltt_reserve_timeout>1h</ltt_reserve_timeout>", "1h", "whole number"}));

// With a default in their place a program would work on other rows or files than the project's.
TEST(Load, WrongPathsAndKeysStopTheProgram) {
    for (const char* wrong : {"<uldl_dir_fanout>many</uldl_dir_fanout>", "<uldl_dir_fanout>-1</uldl_dir_fanout>",
                              "<db_name><x/></db_name>", "<db_user><x/></db_user>", "<db_passwd><x/></db_passwd>",
                              "<db_host><x/></db_host>", "<project_dir><x/></project_dir>", "<key_dir><x/></key_dir>",
                              "<download_dir><x/></download_dir>", "<upload_dir><x/></upload_dir>"})
        EXPECT_THAT(refusal_of(wrong), AllOf(HasSubstr("config.xml"), HasSubstr(std::string(wrong).substr(0, 5))));
    EXPECT_THAT(refusal_of("<upload_dir>" + std::string(5000, 'x') + "</upload_dir>"), HasSubstr("4095"));
}

TEST(Load, AWrongValueLeavesWhatStoodBeforeIt) {
    const LoadedConfig loaded = parse("<report_max>5</report_max><report_max>many</report_max>");
    EXPECT_EQ(loaded.config.report_max, 5);
    EXPECT_THAT(loaded.errors, ElementsAre(HasSubstr("ignored, 5 is used")));
    EXPECT_THAT(errors_of("<compat_level>1</compat_level><max_wus_to_send>x</max_wus_to_send>"),
                HasSubstr("ignored, 50 is used"));
}

TEST(Load, OneWrongWeightLeavesTheOthers) {
    const LoadedConfig loaded =
        parse("<score_weights><size_class>big</size_class><keyword>2</keyword></score_weights>");
    EXPECT_EQ(loaded.config.score_weights, (std::map<std::string, double>{{"keyword", 2}}));
    EXPECT_THAT(loaded.errors, ElementsAre(HasSubstr("<score_weights><size_class>big</size_class>")));
}

TEST(Load, WithoutADatabaseProgramsNameWhatIsMissing) {
    for (const char* options : {"", "<db_user>u</db_user>", "<db_name></db_name>", "<db_name/>"}) {
        const ProjectConfig config = parse(options).config;
        for (DbSettings (*settings)(const ProjectConfig&) : {db_settings, replica_db_settings}) {
            try {
                settings(config);
                ADD_FAILURE() << options;
            } catch (const ConfigError& error) {
                EXPECT_THAT(error.what(), AllOf(HasSubstr("config.xml"), HasSubstr("<db_name> is missing")));
            }
        }
    }
    EXPECT_EQ(db_settings(parse("<db_name>d</db_name>").config).name, "d");
}

TEST(Load, UnknownTagsAreNamedOnce) {
    const LoadedConfig loaded = parse(
        "<no_such_option>5</no_such_option>\n<other><deep><deeper/></deep>&x;</other>\n"
        "<no_such_option/>\n<report_max>3</report_max>");
    EXPECT_EQ(loaded.config.report_max, 3);
    EXPECT_THAT(loaded.warnings, ElementsAre(HasSubstr("<no_such_option>"), HasSubstr("<other>")));
}

TEST(Load, OptionsOfOtherProgramsAreKnown) {
    EXPECT_THAT(parse("<min_passwd_length>6</min_passwd_length><show_results>1</show_results><log_dir>/l</log_dir>"
                      "<profile_screening/><recaptcha_public_key>k</recaptcha_public_key><moderators_hide></"
                      "moderators_hide>")
                    .warnings,
                IsEmpty());
}

TEST(Load, FoldersNamedByHostAreKept) {
    const LoadedConfig loaded = parse("<log_node7_dir>/var/log/p</log_node7_dir>");
    EXPECT_THAT(loaded.warnings, IsEmpty());
    EXPECT_EQ(loaded.config.host_dirs.at("log_node7_dir"), "/var/log/p");
}

TEST(Load, CompatLevelDecidesDefaultsWhereverItStands) {
    for (const char* options : {"<compat_level>1</compat_level><max_ncpus>5</max_ncpus>",
                                "<max_ncpus>5</max_ncpus><compat_level>1</compat_level>"}) {
        const ProjectConfig config = parse(options).config;
        EXPECT_EQ(config.compat_level, 1);
        EXPECT_EQ(config.max_ncpus, 5);
        EXPECT_EQ(config.mm_min_slots, 500);
        EXPECT_EQ(config.mm_max_locked, -1);
        EXPECT_TRUE(config.size_classes);
        EXPECT_EQ(config.feeder_query_size, 2 * config.shmem_work_items);
    }
    const ProjectConfig config = parse("").config;
    EXPECT_EQ(config.compat_level, 0);
    EXPECT_EQ(config.mm_min_slots, 0);
    EXPECT_FALSE(config.size_classes);
}

TEST(Load, BatchAccelerationAndSizeClassesMayStandTogether) {
    const ProjectConfig config = parse("<batch_accel/><size_classes/>").config;
    EXPECT_TRUE(config.batch_accel && config.size_classes);
}

TEST(Load, ZeroMeansAnotherNumber) {
    const ProjectConfig config = parse(
                                     "<shmem_work_items>0</shmem_work_items><feeder_query_size>0</feeder_query_size>"
                                     "<max_wus_to_send>0</max_wus_to_send>")
                                     .config;
    EXPECT_EQ(config.shmem_work_items, 100);
    EXPECT_EQ(config.feeder_query_size, 200);
    EXPECT_EQ(config.max_wus_to_send, 999999);
    // Upstream does not scale the query with the array.
    EXPECT_EQ(parse("<shmem_work_items>5000</shmem_work_items>").config.feeder_query_size, 200);
}

TEST(Load, ShmemKeyIsHexadecimalOrDecimal) {
    EXPECT_EQ(parse("<shmem_key>0x1111ab12</shmem_key>").config.shmem_key, 0x1111ab12);
    EXPECT_EQ(parse("<shmem_key> 286371602 </shmem_key>").config.shmem_key, 286371602);
    EXPECT_EQ(parse("<shmem_key>0xffffffff</shmem_key>").config.shmem_key,
              parse("<shmem_key>-1</shmem_key>").config.shmem_key);
}

// What upstream reads without complaint and what has a meaning there stays readable.
TEST(Load, LargeAndOddNumbersThatUpstreamTakes) {
    EXPECT_EQ(parse("<max_wus_to_send>2147483647</max_wus_to_send>").config.max_wus_to_send, 999999);
    EXPECT_EQ(parse("<max_ncpus>2147483647</max_ncpus>").config.max_ncpus, 2147483647);
    EXPECT_EQ(parse("<reliable_on_priority>-2147483648</reliable_on_priority>").config.reliable_on_priority,
              -2147483647 - 1);
    EXPECT_EQ(parse("<sched_debug_level>99</sched_debug_level>").config.sched_debug_level, 4);
    EXPECT_EQ(parse("<fuh_debug_level>-1</fuh_debug_level>").config.fuh_debug_level, 1);
    EXPECT_EQ(parse("<reliable_max_error_rate>5</reliable_max_error_rate>").warnings.size(), 0u);
    EXPECT_THAT(parse("<dont_search_host_for_user>0</dont_search_host_for_user>").config.dont_search_host_for_user,
                ElementsAre(0));
}

TEST(Load, AnEmptyBanBansNobody) {
    const LoadedConfig loaded = parse("<ban_os></ban_os><ban_cpu/><ban_os>Linux</ban_os>");
    EXPECT_THAT(loaded.config.ban_os, ElementsAre("Linux"));
    EXPECT_THAT(loaded.config.ban_cpu, IsEmpty());
}

TEST(Load, ProxyThatIsNoAddressIsNotBelieved) {
    const LoadedConfig loaded = parse(
        "<trusted_proxy>proxy.example.org</trusted_proxy><trusted_proxy> 10.0.0.0/8 </trusted_proxy>"
        "<trusted_proxy>10.0.0.0/</trusted_proxy>");
    EXPECT_THAT(loaded.config.trusted_proxy, ElementsAre("10.0.0.0/8"));
    EXPECT_THAT(loaded.errors, ElementsAre(HasSubstr("proxy.example.org</trusted_proxy> is not an address"),
                                           HasSubstr("<trusted_proxy>10.0.0.0/<")));
}

TEST(Load, MemoryOfAProcessFollowsTheLongestRequest) {
    EXPECT_EQ(parse("").config.max_process_memory, (std::int64_t{512} << 20) + 4 * (std::int64_t{64} << 20));
    EXPECT_EQ(parse("<max_request_bytes>1000000000</max_request_bytes>").config.max_process_memory,
              (std::int64_t{512} << 20) + 4000000000);
    EXPECT_EQ(parse("<max_process_memory>123456789</max_process_memory>").config.max_process_memory, 123456789);
}

TEST(Load, GracePeriodTheLaterTagWins) {
    EXPECT_EQ(parse("<report_grace_period>10</report_grace_period><grace_period_hours>2</grace_period_hours>")
                  .config.report_grace_period,
              7200);
    EXPECT_EQ(parse("<grace_period_hours>2</grace_period_hours><report_grace_period>10</report_grace_period>")
                  .config.report_grace_period,
              10);
    EXPECT_EQ(parse("<delete_delay_hours>1.5</delete_delay_hours>").config.delete_delay(), 5400);
}

TEST(Load, OldClientVersionsAreScaled) {
    EXPECT_EQ(parse("<min_core_client_version>612</min_core_client_version>").config.min_core_client_version, 61200);
    EXPECT_EQ(parse("<min_core_client_version>71000</min_core_client_version>").config.min_core_client_version, 71000);
}

TEST(Load, ReplicaDefaultsToTheDatabase) {
    const ProjectConfig config = parse(
                                     "<db_name>d</db_name><db_user>u</db_user><db_passwd>p</db_passwd>"
                                     "<db_host>h:3307</db_host><replica_db_host>r</replica_db_host>")
                                     .config;
    const DbSettings replica = replica_db_settings(config);
    EXPECT_EQ(replica.host, "r");
    EXPECT_EQ(replica.name, "d");
    EXPECT_EQ(replica.user, "u");
    EXPECT_EQ(replica.password, "p");
    EXPECT_TRUE(replica.read_uncommitted);
    EXPECT_EQ(db_settings(config).host, "h:3307");
    EXPECT_FALSE(db_settings(config).read_uncommitted);
}

TEST(Load, ReplicaMayHaveItsOwnNameAndAccount) {
    const DbSettings replica =
        replica_db_settings(parse("<db_name>d</db_name><db_user>u</db_user><db_passwd>p</db_passwd>"
                                  "<replica_db_name>copy</replica_db_name><replica_db_user>reader</replica_db_user>"
                                  "<replica_db_passwd>word</replica_db_passwd>")
                                .config);
    EXPECT_EQ(replica.name, "copy");
    EXPECT_EQ(replica.user, "reader");
    EXPECT_EQ(replica.password, "word");
}

TEST(Load, OwnHostNameMeansTheSocket) {
    char name[256] = {};
    ASSERT_EQ(gethostname(name, sizeof name - 1), 0);
    EXPECT_EQ(parse("<db_host>" + std::string(name) + "</db_host>").config.db_host, "localhost");
}

TEST(Load, PatternsRepeatAndBadOnesAreLeftOut) {
    const LoadedConfig loaded = parse(
        "<ban_os>Windows.*</ban_os><ban_os>a(b</ban_os><ban_os>Linux</ban_os><no_amd_k6/>"
        "<dont_search_host_for_user>3</dont_search_host_for_user>"
        "<dont_search_host_for_user>4</dont_search_host_for_user>");
    EXPECT_THAT(loaded.config.ban_os, ElementsAre("Windows.*", "Linux"));
    EXPECT_THAT(loaded.config.ban_cpu, ElementsAre(HasSubstr("AMD")));
    EXPECT_THAT(loaded.config.dont_search_host_for_user, ElementsAre(3, 4));
    EXPECT_THAT(loaded.errors, ElementsAre(AllOf(HasSubstr("ban_os"), HasSubstr("a(b"))));
}

TEST(Load, WeightsAreNumbersByName) {
    const ProjectConfig config =
        parse("<score_weights>\n <size_class>7.5</size_class>\n <keyword>-1</keyword></score_weights>").config;
    EXPECT_DOUBLE_EQ(config.score_weights.at("size_class"), 7.5);
    EXPECT_DOUBLE_EQ(config.score_weights.at("keyword"), -1);
}

TEST(Load, WeightsOfUnknownTermsAreDropped) {
    LoadedConfig loaded =
        parse("<score_weights><hardnes>3</hardnes><share>9</share><keyword>2</keyword></score_weights>");
    drop_unknown_weights(loaded, std::vector<std::string_view>{"hardness", "keyword"});
    EXPECT_EQ(loaded.config.score_weights, (std::map<std::string, double>{{"keyword", 2}}));
    EXPECT_THAT(loaded.errors, ElementsAre(AllOf(HasSubstr("<hardnes>3</hardnes>"), HasSubstr("hardness, keyword"))));
    EXPECT_THAT(loaded.warnings, ElementsAre(HasSubstr("(<share_rule>off</share_rule> switches it off)")));
}

struct ShapeCase {
    const char* text;
    const char* message;
};
class BrokenFile : public testing::TestWithParam<ShapeCase> {};
TEST_P(BrokenFile, IsAnError) {
    try {
        parse_config(GetParam().text, "config.xml");
        FAIL() << GetParam().text;
    } catch (const ConfigError& error) {
        EXPECT_THAT(error.what(), AllOf(HasSubstr("config.xml"), HasSubstr(GetParam().message)));
    }
}
INSTANTIATE_TEST_SUITE_P(Shapes, BrokenFile,
                         testing::Values(ShapeCase{"", "<config>"}, ShapeCase{"no xml at all", "<config>"},
                                         ShapeCase{"<boinc></boinc>", "<config>"},
                                         ShapeCase{"<boinc><config><report_max>1</report_max></boinc>", "</boinc>"},
                                         ShapeCase{"<boinc><config>", "</config>"},
                                         ShapeCase{"<boinc><config>\n<db_name>x\n<db_user>u</db_user></config></boinc>",
                                                   "</db_name>"},
                                         ShapeCase{"<boinc><config>\n<db_name>x\n</config></boinc>", "</db_name>"},
                                         ShapeCase{"<boinc><config>\n<odd>x\n<db_name>d</db_name></config></boinc>",
                                                   "<odd> has no </odd>"}));

TEST(Load, NothingAfterTheConfigElementMatters) {
    EXPECT_EQ(parse_config("<?xml version=\"1.0\"?><boinc><config><report_max>3</report_max></config>"
                           "<daemons><daemon>broken",
                           "config.xml")
                  .config.report_max,
              3);
}

}  // namespace
}  // namespace sluice
