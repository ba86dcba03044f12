// SPDX-License-Identifier: LGPL-3.0-or-later
// Input that is made to hurt: it must end quickly, stay within bounds and never take the rest of the request with it
// where the rest is well-formed. The same input grown tenfold must not cost a hundredfold.
#include <ctime>
#include <functional>

#include "tests/support/captures.h"
#include "tests/unit/rpc/parsed.h"

namespace sluice::test {
namespace {

std::string repeated(const std::string& piece, std::size_t bytes) {
    std::string out;
    out.reserve(bytes + piece.size());
    while (out.size() < bytes) out += piece;
    return out;
}

/// Of this process alone: others may keep it waiting.
double cpu_seconds_for(const std::string& text) {
    const std::clock_t start = std::clock();
    parse_request(text, {});
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

TEST(Hostile, NestedUnknownTags) {
    for (const int depth : {1000, 100000}) {
        std::string body;
        for (int i = 0; i < depth; ++i) body += "<x>";
        EXPECT_EQ(parsed(element("hostid", "3") + body).hostid, 3) << "never closed";
        for (int i = 0; i < depth; ++i) body += "</x>";
        EXPECT_EQ(parsed(body + element("hostid", "5")).hostid, 5) << "closed";
    }
}

TEST(Hostile, CostIsLinear) {
    const struct {
        const char* what;
        const char* piece;
    } cases[] = {
        {"open tags", "<x>"},
        {"open tags of known blocks", "<result><host_info><coprocs><other_results>"},
        {"open raw documents", "<stderr_out>"},
        {"open raw documents of results", "<result><stderr_out>"},
        {"open preferences", "<global_preferences>"},
        {"messages without end", "<msg_from_host>"},
        {"keys without end", "<code_sign_key>a"},
        {"file infos without end", "<result><name>a</name><file_info>"},
        {"open CDATA", "<![CDATA["},
        {"open comments", "<!--"},
        {"texts without end", "<authenticator>"},
        {"angle brackets", "<<<<<<<<"},
        {"ampersands", "<client_brand>&&&&&&"},
        {"closing tags", "</x>"},
        {"distinct open tags", "<a><b><c><d><e><f><g><h><i><j><k><l>"},
        {"empty elements", "<x/>"},
        {"same result", "<result><name>a</name></result>"},
        {"varieties", "<msg_from_host><variety><variety>"},
    };
    for (const auto& c : cases) {
        SCOPED_TRACE(c.what);
        const std::string small = "<scheduler_request>" + repeated(c.piece, 400000);
        const std::string large = "<scheduler_request>" + repeated(c.piece, 4000000);
        const double a = cpu_seconds_for(small), b = cpu_seconds_for(large);
        // Quadratic would be a factor of 100 (and minutes); the floor keeps timer noise out.
        EXPECT_LT(b, std::max(a, 0.02) * 40) << a << " s, " << b << " s";
        parse_request(large + "</scheduler_request>", {});
    }
}

TEST(Hostile, FiftyMegabytes) {
    const std::string big =
        repeated("<result><name>abc</name><stderr_out>" + std::string(60000, 'x') + "</stderr_out></result>",
                 std::size_t{50} << 20);
    const ParsedRequest result = parse_request("<scheduler_request>" + big + "</scheduler_request>", {});
    ASSERT_TRUE(result.request);
    EXPECT_EQ(result.request->results.size(), 1u);
    RequestLimits limits;
    limits.max_bytes = 1000;
    EXPECT_EQ(parse_request(big, limits).error, "request too large");
}

TEST(Hostile, NulEndsTheInput) {
    const std::string start = "<scheduler_request><hostid>5</hostid>", end = "</scheduler_request>";
    EXPECT_EQ(parse_request(start + std::string(1, '\0') + end, {}).error, "no end tag");
    EXPECT_TRUE(parse_request(start + end + std::string(3, '\0'), {}).request);
}

TEST(Hostile, UnterminatedCdata) {
    EXPECT_EQ(
        parse_request("<scheduler_request><result><name>a</name><x><![CDATA[ </x></result></scheduler_request>", {})
            .error,
        "no end tag");
    const SchedulerRequest r =
        parsed("<result><name>a</name><stderr_out><![CDATA[ </stderr_out><state>5</state></result><hostid>5</hostid>");
    EXPECT_EQ(r.results.at(0).client_state, 5) << "stderr ends at its literal end tag";
    EXPECT_EQ(r.hostid, 5);
}

TEST(Hostile, LongTag) {
    EXPECT_EQ(parse_request("<scheduler_request><" + std::string(5000, 'x') + "/></scheduler_request>", {}).error,
              "no end tag");
    EXPECT_EQ(parsed("<" + std::string(4000, 'x') + "/><hostid>5</hostid>").hostid, 5);
}

TEST(Hostile, BlockThatNeverEndsDoesNotTakeRoot) {
    for (const char* tag : {"host_info", "result", "coprocs", "time_stats", "app_versions", "other_results",
                            "in_progress_results", "file_info", "user_keywords", "alt_platform", "disk_usage"}) {
        const ParsedRequest r = parse_request(
            "<scheduler_request><hostid>5</hostid><" + std::string(tag) + "><name>q</name></scheduler_request>", {});
        ASSERT_TRUE(r.request) << tag;
        EXPECT_EQ(r.request->hostid, 5) << tag;
    }
}

// Every prefix of a real request is refused as truncated, every single-byte damage is survived.
TEST(Hostile, PrefixesAndDamage) {
    const std::string whole = capture("20_linux_nvidia_gpu_work.request");
    const std::size_t end = whole.find("</scheduler_request>");
    ASSERT_NE(end, std::string::npos);
    for (std::size_t n = 0; n < end + 19; n += 7) {
        const ParsedRequest r = parse_request(std::string_view(whole).substr(0, n), {});
        EXPECT_FALSE(r.request) << n;
        EXPECT_EQ(r.error, n < 19 ? "xp.get_tag() failed" : "no end tag") << n;
    }
    for (std::size_t i = 19; i < end; i += 3) {
        for (const char c : {'<', '>', '/', '&', '\0', '\xFF'}) {
            std::string damaged = whole;
            damaged[i] = c;
            const ParsedRequest r = parse_request(damaged, {});
            EXPECT_TRUE(r.request || r.error == "no end tag") << i;
        }
    }
}

}  // namespace
}  // namespace sluice::test
