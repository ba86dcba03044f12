// SPDX-License-Identifier: LGPL-3.0-or-later
// What a web server may hand to the scheduler beside a request: each time exactly one well-formed reply, in bounded
// time and memory, nothing written, and the next client is served.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/core.h>
#include <zlib.h>

#include <chrono>

#include "tests/support/captures.h"
#include "tests/support/scheduler_server.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;

std::string nested(int depth, const std::string& tag) {
    std::string text = "<scheduler_request>\n";
    for (int i = 0; i < depth; ++i) text += "<" + tag + ">";
    for (int i = 0; i < depth; ++i) text += "</" + tag + ">";
    return text + "\n</scheduler_request>\n";
}

std::string gzipped(const std::string& text) {
    z_stream stream{};
    deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
    std::string out(compressBound(text.size()) + 64, '\0'), in = text;
    stream.next_in = reinterpret_cast<Bytef*>(in.data());
    stream.avail_in = static_cast<uInt>(in.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    deflate(&stream, Z_FINISH);
    out.resize(stream.total_out);
    deflateEnd(&stream);
    return out;
}

/// By HTTP/1.0, to which a server answers without chunks.
std::string post(const std::string& headers, const std::string& body, const char* version = "1.0") {
    return "POST /test_cgi/cgi HTTP/" + std::string(version) +
           "\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: text/xml\r\n" + headers + "\r\n" + body;
}
std::string with_length(std::size_t n) { return fmt::format("Content-Length: {}\r\n", n); }
std::string chunks(const std::string& body, std::size_t size) {
    std::string out;
    for (std::size_t at = 0; at < body.size(); at += size) {
        const std::string part = body.substr(at, size);
        out += fmt::format("{:x}\r\n{}\r\n", part.size(), part);
    }
    return out + "0\r\n\r\n";
}

class HostileRequests : public testing::TestWithParam<Served> {
  protected:
    static void SetUpTestSuite() {
        project_ = std::make_unique<TestProject>(PrivateMariaDb::shared(), "hostile",
                                                 "<daily_result_quota>100000</daily_result_quota>");
        project_->store();
        project_->add_unsent_jobs(500);
        project_->start_feeder();
    }
    static void TearDownTestSuite() { project_.reset(); }
    // A scheduler may have 400 MB where Apache can see to it; two requests of the largest size do not fit.
    HostileRequests()
        : served_(*project_, GetParam(), GetParam() == Served::kCgi ? "RLimitMEM 400000000 400000000\n" : "") {}

    /// Everything that a request could change.
    static std::vector<std::vector<std::string>> database() {
        return rows_of(
            project_->db(),
            Sql("SELECT (SELECT COUNT(*) FROM host), (SELECT SUM(rpc_seqno) FROM host), (SELECT COUNT(*) FROM result WHERE "
                "server_state<>2), (SELECT COUNT(*) FROM msg_from_host), (SELECT COUNT(*) FROM user), (SELECT COUNT(*) FROM "
                "host_app_version), (SELECT SUM(transition_time) FROM workunit)"),
            7);
    }
    void expect_served() {
        const HttpReply reply = served_.post(work_request(0, 1, 1, "", 4, "good"));
        EXPECT_EQ(malformed(reply), "") << served_.logs();
        EXPECT_THAT(reply.body, HasSubstr("<hostid>"));
    }
    static std::unique_ptr<TestProject> project_;
    SchedulerServer served_;
};
std::unique_ptr<TestProject> HostileRequests::project_;

TEST_P(HostileRequests, GetAWellFormedReplyAndChangeNothing) {
    std::string binary;
    for (int i = 0; i < 100000; ++i) binary += static_cast<char>(i * 7919 >> 3);
    const std::string good = work_request(0, 1, 1, "", 4, "hostile");
    const std::string megabytes = "<scheduler_request>\n" + std::string(50 << 20, 'x') + "\n</scheduler_request>\n";
    std::string elements_50mb = "<scheduler_request>\n";
    while (elements_50mb.size() < 50u << 20)
        elements_50mb += "<result><name>r</name></result><file_info><name>f</name></file_info>\n";
    const std::vector<std::pair<const char*, std::string>> bodies = {
        {"a blank", " "},
        {"garbage", "hello, world"},
        {"binary", binary},
        {"null characters", "<scheduler_request>\n" + std::string(1000, '\0') + "</scheduler_request>\n"},
        {"a truncated capture", capture("39_truncated.request")},
        {"half a good request", good.substr(0, good.size() / 2)},
        {"all but the end tag", good.substr(0, good.find("</scheduler_request>"))},
        {"another root", "<data_server_request>\n<get_file_size>x</get_file_size>\n</data_server_request>\n"},
        {"an unterminated CDATA", "<scheduler_request>\n<authenticator><![CDATA[" + good},
        {"an unterminated comment", "<scheduler_request>\n<!-- " + good},
        {"an unterminated tag", "<scheduler_request>\n<authenticator " + std::string(1 << 20, 'a')},
        {"nesting by 100000", nested(100000, "x")},
        {"nesting of known tags by 100000", nested(100000, "host_info")},
        {"50 MB of text", megabytes},
        {"50 MB of elements without an end", elements_50mb},
        {"no account key", "<scheduler_request>\n<hostid>1</hostid>\n</scheduler_request>\n"},
        {"a compressed request", gzipped(good)},
    };
    const auto before = database();
    for (const auto& [what, body] : bodies) {
        const auto start = std::chrono::steady_clock::now();
        const HttpReply reply = served_.post(body, 120);
        EXPECT_EQ(malformed(reply), "") << what << served_.logs();
        EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60)) << what;
        EXPECT_THAT(reply.body, HasSubstr("<message")) << what;
        EXPECT_EQ(database(), before) << what;
    }
    expect_served();
}

TEST_P(HostileRequests, AskedLikePageItAnswersLikeScheduler) {
    const auto before = database();
    for (const char* head :
         {"GET /test_cgi/cgi HTTP/1.0\r\n\r\n", "GET /test_cgi/cgi?--debug_log HTTP/1.0\r\n\r\n",
          "GET /test_cgi/cgi?--listen+/tmp/x HTTP/1.0\r\n\r\n",
          "POST /test_cgi/cgi HTTP/1.0\r\nContent-Length: 0\r\n\r\n", "GET /test_cgi/cgi/more/path HTTP/1.0\r\n\r\n"})
        EXPECT_EQ(malformed(http_bytes(served_.port(), head)), "") << head << served_.logs();
    EXPECT_EQ(database(), before);
    expect_served();
}

TEST_P(HostileRequests, LengthsThatAreNotTrueHarmNobody) {
    const std::string good = work_request(0, 1, 1, "", 4, "lengths");
    const auto before = database();
    const struct {
        const char* what;
        std::string request;
        bool wants_reply;  // Apache itself refuses the others
    } cases[] = {
        {"too long, then the end", post(with_length(good.size() + 1000), good), false},
        {"too short", post(with_length(good.size() / 2), good), true},
        {"not a number", post("Content-Length: many\r\n", good), false},
        {"negative", post("Content-Length: -5\r\n", good), false},
        {"two different ones", post(with_length(10) + with_length(20), good), false},
        {"chunks that break off", post("Transfer-Encoding: chunked\r\n", chunks(good, 100).substr(0, 500), "1.1"),
         false},
        {"bad chunk sizes", post("Transfer-Encoding: chunked\r\n", "zzz\r\n" + good, "1.1"), false},
    };
    for (const auto& c : cases) {
        const auto start = std::chrono::steady_clock::now();
        const HttpReply reply = http_bytes(served_.port(), c.request);
        if (c.wants_reply) {
            EXPECT_EQ(malformed(reply), "") << c.what << served_.logs();
        }
        EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(50)) << c.what;
        EXPECT_EQ(database(), before) << c.what << reply.status << reply.body;
    }
    expect_served();
}

TEST_P(HostileRequests, AChunkedRequestIsARequest) {
    const std::string good = work_request(0, 1, 1, "", 4, "chunked");
    const HttpReply reply =
        http_bytes(served_.port(), post("Transfer-Encoding: chunked\r\n", chunks(good, 100), "1.1"));
    ASSERT_EQ(reply.status, 200) << reply.body << served_.logs();
    EXPECT_THAT(reply.body, HasSubstr("<hostid>"));
    EXPECT_THAT(reply.body, HasSubstr("</scheduler_reply>"));
}

INSTANTIATE_TEST_SUITE_P(All, HostileRequests, testing::Values(Served::kCgi, Served::kFcgid, Served::kListen),
                         [](const auto& how) { return name_of(how.param); });

}  // namespace
}  // namespace sluice::test
