// SPDX-License-Identifier: LGPL-3.0-or-later
// Root, scalar elements, lexical rules, raw documents.
#include <cmath>
#include <functional>

#include "tests/unit/rpc/parsed.h"

namespace sluice::test {
namespace {

TEST(Root, ErrorsHaveUpstreamsWords) {
    const struct {
        const char* text;
        const char* error;
    } cases[] = {
        {"", "xp.get_tag() failed"},
        {"hello world\n", "xp.get_tag() failed"},
        {"   \n\n", "xp.get_tag() failed"},
        {"<!-- only a comment -->", "xp.get_tag() failed"},
        {"<scheduler_request", "xp.get_tag() failed"},
        {"<html><body>x</body></html>", "no start tag"},
        {"<?xml version=\"1.0\"?><other/>", "no start tag"},
        {"<scheduler_request/>", "no start tag"},
        {"<scheduler_request>", "no end tag"},
        {"<scheduler_request><hostid>1</hostid>", "no end tag"},
        {"<scheduler_request><hostid>1</hostid></scheduler_req", "no end tag"},
        {"<scheduler_request><host_info><p_ncpus>3</p_ncpus>", "no end tag"},
        {"<scheduler_request><result><stderr_out>abc", "no end tag"},
    };
    for (const auto& c : cases) {
        const ParsedRequest result = parse_request(c.text, {});
        EXPECT_FALSE(result.request) << c.text;
        EXPECT_EQ(result.error, c.error) << c.text;
    }
}

TEST(Root, ReadDocumentsMayGo) {
    std::string text = "<scheduler_request>\n";
    for (int i = 0; i < 50; ++i)
        text += "<result><name>r" + std::to_string(i) + "</name><stderr_out>" + std::string(60'000, 'e') +
                "</stderr_out></result>\n";
    text += "<hostid>7</hostid></scheduler_request>";
    std::string shrinking = text;
    std::vector<std::size_t> told;
    const ParsedRequest parsed = parse_request(shrinking, {}, [&](std::size_t bytes) {
        told.push_back(bytes);
        std::fill_n(shrinking.begin(), bytes, '!');
    });
    ASSERT_TRUE(parsed.request);
    EXPECT_EQ(parsed.request->hostid, 7);
    ASSERT_EQ(parsed.request->results.size(), 50u);
    EXPECT_EQ(parsed.request->results.front().name, "r0");
    EXPECT_EQ(parsed.request->results.front().stderr_out, std::string(60'000, 'e'));
    ASSERT_EQ(told.size(), 2u);
    EXPECT_LT(told[0], told[1]);
    EXPECT_LT(told[1], text.size());
}

TEST(Root, WhatSurroundsItDoesNotMatter) {
    for (
        const char* text : {
            "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>\n<scheduler_request><hostid>7</hostid></scheduler_request>",
            "1f4\r\n<scheduler_request>\r\n<hostid>7</hostid>\r\n</scheduler_request>\r\n0\r\n",
            "<!-- c --><scheduler_request a=\"b\"><hostid>7</hostid></scheduler_request><more/>",
            "<scheduler_request><hostid>7</hostid></scheduler_request>trailing </scheduler_request>",
            "<scheduler_request\n><hostid\t>7</hostid></scheduler_request>",
        }) {
        const ParsedRequest result = parse_request(text, {});
        ASSERT_TRUE(result.request) << result.error << text;
        EXPECT_EQ(result.request->hostid, 7) << text;
    }
}

TEST(Scalars, EveryElement) {
    const SchedulerRequest r = parsed(
        "<authenticator>0123456789abcdef0123456789abcdef</authenticator><cross_project_id>c1</cross_project_id>"
        "<hostid>4000000001</hostid><rpc_seqno>17</rpc_seqno>"
        "<core_client_major_version>8</core_client_major_version><core_client_minor_version>2</core_client_minor_version>"
        "<core_client_release>6</core_client_release><platform_name>windows_x86_64</platform_name>"
        "<client_brand>HTC Power To Give</client_brand><work_req_seconds>8640.5</work_req_seconds>"
        "<cpu_req_secs>1728.25</cpu_req_secs><cpu_req_instances>2.5</cpu_req_instances>"
        "<estimated_delay>33.5</estimated_delay><resource_share_fraction>0.25</resource_share_fraction>"
        "<rrs_fraction>0.5</rrs_fraction><prrs_fraction>0.75</prrs_fraction>"
        "<duration_correction_factor>1.5</duration_correction_factor><dont_send_work/>"
        "<client_cap_plan_class>1</client_cap_plan_class><dont_use_docker/><dont_use_wsl>1</dont_use_wsl>"
        "<sandbox>1</sandbox><allow_multiple_clients>1</allow_multiple_clients>"
        "<global_prefs_source_email_hash>abc</global_prefs_source_email_hash>");
    EXPECT_EQ(r.authenticator, "0123456789abcdef0123456789abcdef");
    EXPECT_EQ(r.cross_project_id, "c1");
    EXPECT_EQ(r.hostid, 4000000001);
    EXPECT_EQ(r.rpc_seqno, 17);
    EXPECT_EQ(r.client_version(), 80206);
    EXPECT_EQ(r.platform_name, "windows_x86_64");
    EXPECT_EQ(r.work_req_seconds, 8640.5);
    EXPECT_EQ(r.cpu_req_secs, 1728.25);
    EXPECT_EQ(r.cpu_req_instances, 2.5);
    EXPECT_EQ(r.cpu_estimated_delay, 33.5);
    EXPECT_EQ(r.duration_correction_factor, 1.5);
    EXPECT_TRUE(r.dont_send_work && r.client_cap_plan_class && r.dont_use_docker && r.dont_use_wsl);
    EXPECT_EQ(r.allow_multiple_clients, 1);
    EXPECT_EQ(r.global_prefs_source_email_hash, "abc");
    EXPECT_TRUE(r.unknown_tags.empty());
}

TEST(Scalars, WhatIsNotSent) {
    const SchedulerRequest r = parsed("");
    EXPECT_TRUE(r.authenticator.empty() && r.platform_name.empty() && r.global_prefs.empty());
    EXPECT_EQ(r.hostid, 0);
    EXPECT_EQ(r.client_version(), 0);
    EXPECT_EQ(r.duration_correction_factor, 1);
    EXPECT_EQ(r.allow_multiple_clients, -1);
    EXPECT_FALSE(r.dont_send_work || r.client_cap_plan_class || r.has_host_info || r.has_time_stats ||
                 r.has_disk_usage || r.has_other_results || r.has_in_progress_results || r.has_user_keywords);
    EXPECT_FALSE(r.anonymous());
}

TEST(Scalars, Integers) {
    const struct {
        const char* text;
        Id value;
    } cases[] = {
        {"12", 12},
        {" 12 \n", 12},
        {"0x1F", 31},
        {"017", 15},
        {"", 0},
        {"-5", -1},
        {"12abc", 0},
        {"1e3", 1000},
        {"3.000000", 3},
        {"+4", 4},
        {"nan", 0},
        {"inf", 0},
        {"99999999999999999999", 1000000000000000000},
        {"&#49;2", 12},
        {"<b>1</b>", 0},
    };
    for (const auto& c : cases) EXPECT_EQ(parsed(element("hostid", c.text)).hostid, c.value) << c.text;
    EXPECT_EQ(parsed("<hostid/>").hostid, 0);
    EXPECT_EQ(parsed(element("rpc_seqno", "9999999999")).rpc_seqno, 2147483647);
    EXPECT_EQ(parsed(element("allow_multiple_clients", "-9999999999")).allow_multiple_clients, -2147483647 - 1);
}

TEST(Scalars, ClientVersionStaysANumber) {
    EXPECT_EQ(parsed(element("core_client_major_version", "-3")).client_version(), 0);
    const SchedulerRequest r =
        parsed(element("core_client_major_version", "2147483647") + element("core_client_minor_version", "2147483647") +
               element("core_client_release", "2147483647"));
    EXPECT_GT(r.client_version(), 0);
}

TEST(Scalars, NumbersAreFiniteAndClamped) {
    constexpr double kMonth = 28 * 86400.0;
    const struct {
        const char* text;
        double seconds;
    } cases[] = {
        {"100", 100}, {"1e3", 1000}, {"0x10", 16}, {"-1", 0},   {"1e308", kMonth},
        {"nan", 0},   {"-nan", 0},   {"inf", 0},   {"-inf", 0}, {"1e999", 0},
        {"12 34", 0}, {"", 0},       {"abc", 0},   {" 5 ", 5},  {"2419201", kMonth},
    };
    for (const auto& c : cases) {
        EXPECT_EQ(parsed(element("work_req_seconds", c.text)).work_req_seconds, c.seconds) << c.text;
        EXPECT_EQ(parsed(element("cpu_req_secs", c.text)).cpu_req_secs, c.seconds) << c.text;
    }
    EXPECT_EQ(parsed(element("cpu_req_instances", "-4")).cpu_req_instances, 0);
    EXPECT_EQ(parsed(element("cpu_req_instances", "1e9")).cpu_req_instances, 4096);
    EXPECT_EQ(parsed(element("estimated_delay", "-1")).cpu_estimated_delay, 0);
    EXPECT_EQ(parsed(element("duration_correction_factor", "nan")).duration_correction_factor, 0);
    EXPECT_TRUE(
        std::isfinite(parsed(element("duration_correction_factor", "1e308")).duration_correction_factor * 1e200));
    // "%f" of the largest double is a number too.
    EXPECT_EQ(parsed(element("estimated_delay", "1" + std::string(300, '0') + ".000000")).cpu_estimated_delay, 1e18);
}

TEST(Scalars, Booleans) {
    const struct {
        const char* xml;
        bool value;
    } cases[] = {
        {"<dont_send_work/>", true},
        {"<dont_send_work />", true},
        {"<dont_send_work>1</dont_send_work>", true},
        {"<dont_send_work>-1</dont_send_work>", true},
        {"<dont_send_work>0</dont_send_work>", false},
        {"<dont_send_work></dont_send_work>", false},
        {"<dont_send_work>yes</dont_send_work>", false},
        {"<dont_send_work>1</dont_send_work><dont_send_work>0</dont_send_work>", false},
    };
    for (const auto& c : cases) {
        const SchedulerRequest r = parsed(std::string(c.xml) + "<hostid>5</hostid>");
        EXPECT_EQ(r.dont_send_work, c.value) << c.xml;
        EXPECT_EQ(r.hostid, 5) << "the rest is read on: " << c.xml;
    }
}

TEST(Scalars, Texts) {
    const auto model = [](const std::string& text) {
        return parsed(element("host_info", element("p_model", text))).host.p_model;
    };
    EXPECT_EQ(model("  a b \n"), "a b");
    EXPECT_EQ(model("&lt;a&gt; &amp; &quot;b&quot; &apos;c&apos; &#65;"), "<a> & \"b\" 'c' A");
    EXPECT_EQ(model("a<![CDATA[<b>&amp;]]>c"), "a<b>&amp;c");
    EXPECT_EQ(model("caf\xE9"), "caf\xC3\xA9") << "Latin-1";
    EXPECT_EQ(model("caf&#233;"), "caf\xC3\xA9");
    EXPECT_EQ(model("caf\xC3\xA9"), "caf\xC3\xA9") << "UTF-8";
    EXPECT_EQ(model(std::string(400, 'x')).size(), 254u) << "a description is cut";
    EXPECT_EQ(model(std::string(253, 'x') + "\xC3\xA9\xC3\xA9"), std::string(253, 'x')) << "not within a character";
    EXPECT_EQ(parsed(element("platform_name", std::string(255, 'p'))).platform_name.size(), 255u);
    EXPECT_EQ(parsed(element("platform_name", std::string(256, 'p'))).platform_name, "") << "a name is not";
    EXPECT_EQ(parsed(element("platform_name", "a") + element("platform_name", "b")).platform_name, "b");
    EXPECT_EQ(parsed(element("authenticator", "abc'; drop table user; --")).authenticator, "abc");
    EXPECT_EQ(parsed(element("authenticator", "12_ab\"c")).authenticator, "12_ab");
    EXPECT_EQ(parsed(element("authenticator", std::string(300, 'a'))).authenticator, "");
    EXPECT_EQ(parsed(element("cross_project_id", std::string(255, 'a'))).cross_project_id, "")
        << "wider than its column";
}

// Upstream rejects a request with one of these that holds text without a slash: verified there.
TEST(Scalars, DeprecatedElementsAreSkippedWhole) {
    for (const char* tag :
         {"uptime",        "host_venue",    "project_name",       "user_name",       "team_name",
          "email_hash",    "app",           "app_version",        "active_task_set", "project",
          "proxy_info",    "master_url",    "nrpc_failures",      "resource_share",  "user_total_credit",
          "scheduler_url", "project_files", "daily_xfer_history", "client_opaque",   "job_log"}) {
        for (const std::string content : {"home", "http://a/b/", "", "<name>x</name><hostid>99</hostid>"}) {
            const SchedulerRequest r = parsed(element(tag, content) + element("hostid", "5"));
            EXPECT_EQ(r.hostid, 5) << tag << ": " << content;
            EXPECT_TRUE(r.unknown_tags.empty()) << tag;
        }
    }
}

TEST(Scalars, UnknownElementsAreNamed) {
    std::string body;
    for (int i = 0; i < 30; ++i) body += element("new_thing_" + std::to_string(i), "<hostid>9</hostid>");
    const SchedulerRequest r = parsed(body + element("hostid", "5") + "<" + std::string(500, 'x') + "/>");
    EXPECT_EQ(r.hostid, 5);
    ASSERT_EQ(r.unknown_tags.size(), 20u);
    EXPECT_EQ(r.unknown_tags[0], "new_thing_0");
    EXPECT_EQ(parsed("<" + std::string(500, 'x') + "/>").unknown_tags[0].size(), 64u);
}

TEST(RawDocuments, GlobalPreferences) {
    const std::string prefs =
        "<global_preferences>\n<mod_time>5</mod_time>\n<a>&lt;</a>\n<venue name=\"home\"></venue>\n</global_preferences>";
    EXPECT_EQ(parsed(prefs).global_prefs, prefs);
    EXPECT_EQ(parsed("<working_global_preferences>\n" + prefs + "\n</working_global_preferences>").working_global_prefs,
              "\n" + prefs + "\n");
    EXPECT_EQ(parsed("<working_global_preferences>\n" + prefs + "\n</working_global_preferences>").global_prefs, "");
    EXPECT_EQ(parsed("<global_preferences/><hostid>3</hostid>").hostid, 3);
}

TEST(RawDocuments, TooLongOnesAreLeftOut) {
    const std::string big = std::string(70000, 'x');
    const SchedulerRequest r = parsed(element("global_preferences", big) + element("working_global_preferences", big) +
                                      element("code_sign_key", big) + element("hostid", "5"));
    EXPECT_EQ(r.global_prefs, "");
    EXPECT_EQ(r.working_global_prefs, "");
    EXPECT_EQ(r.code_sign_key, "");
    EXPECT_EQ(r.hostid, 5);
    EXPECT_EQ(parsed(element("global_preferences", std::string(65000, 'x'))).global_prefs.size(), 65000u + 41);
}

TEST(RawDocuments, CodeSignKey) {
    EXPECT_EQ(parsed("<code_sign_key>\n1024\nabc\n.\n</code_sign_key>").code_sign_key, "1024\nabc\n.");
    EXPECT_EQ(parsed(element("code_sign_key", "\n" + std::string(4095, 'k') + "\n")).code_sign_key.size(), 4095u);
    EXPECT_EQ(parsed(element("code_sign_key", std::string(4096, 'k'))).code_sign_key, "");
}

TEST(RawDocuments, TimeStatsLog) {
    EXPECT_EQ(parsed(element("time_stats_log", "\n1 power_on\n2 x\n")).time_stats_log, "\n1 power_on\n2 x\n");
    std::string log;
    while (log.size() < (5u << 20)) log += "1795226772.781506 power_on\n";
    const std::string kept = parsed(element("time_stats_log", log)).time_stats_log;
    EXPECT_LE(kept.size(), 4u << 20);
    EXPECT_GT(kept.size(), (4u << 20) - 100);
    EXPECT_TRUE(kept.starts_with("1795226772.781506 power_on\n")) << "begins with a whole line";
    EXPECT_EQ(parsed(element("time_stats_log", std::string(5u << 20, 'x'))).time_stats_log, "");
}

}  // namespace
}  // namespace sluice::test
