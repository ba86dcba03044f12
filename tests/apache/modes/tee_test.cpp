// SPDX-License-Identifier: LGPL-3.0-or-later
// sluice shadow --tee beside a scheduler that a real Apache runs, with an account of its own: clients get their jobs
// while it comes, looks, is killed and goes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "sluice/base/files.h"
#include "tests/support/accounts.h"
#include "tests/support/free_port.h"
#include "tests/support/named_files.h"
#include "tests/support/paths.h"
#include "tests/support/scheduler_server.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;

class TeeUnderApache : public testing::Test {
  protected:
    TeeUnderApache() {
        project_.store();
        project_.add_unsent_jobs(300);
        project_.start_feeder();
        const fs::path cgi_bin = project_.folder() / "cgi-bin";
        fs::create_directories(cgi_bin);
        fs::copy_file(fs::path(binary_dir()) / "cgi-bin/cgi", cgi_bin / "cgi", fs::copy_options::overwrite_existing);
        fs::permissions(cgi_bin / "cgi", fs::perms(0755));
        ApacheOptions options;
        options.port = free_port();
        project_.set_port(options.port);
        options.env = project_.env();
        std::string fragment = read_file(project_.apache_fragment()).value();
        const std::string built = binary_dir() + "/cgi-bin";
        for (std::size_t at = 0; (at = fragment.find(built)) != std::string::npos;)
            fragment.replace(at, built.size(), cgi_bin.string());
        options.include = project_.folder() / "teed.httpd.conf";
        write_file_atomically(options.include, fragment);
        apache_ = std::make_unique<PrivateApache>(options);
    }
    Subprocess start_shadow() {
        Subprocess shadow(
            {(fs::path(binary_dir()) / "bin/sluice").string(), "shadow", project_.folder().string(), "--tee", "--json"},
            project_.run_options());
        EXPECT_TRUE(shadow.wait_for_output("the tee is in place")) << shadow.err();
        return shadow;
    }
    /// A host of that number asks for work.
    HttpReply ask(int host, const std::string& inside = "") {
        return http(apache_->port(), "/test_cgi/cgi",
                    work_request(0, 1, 2000, inside, 1, "host" + std::to_string(host)));
    }
    void expect_jobs(int host, const std::string& inside = "") {
        const HttpReply reply = ask(host, inside);
        EXPECT_EQ(malformed(reply), "") << apache_->error_log();
        EXPECT_THAT(reply.body, HasSubstr("<result>")) << project_.scheduler_log();
    }

    TestProject project_{PrivateMariaDb::shared(), "teed"};
    std::unique_ptr<PrivateApache> apache_;
};

TEST_F(TeeUnderApache, SeesWhatClientsAskAndGet) {
    NamedFiles programs({project_.folder() / "cgi-bin"});
    Subprocess shadow = start_shadow();
    for (int host = 1; host <= 4; ++host) expect_jobs(host);
    expect_jobs(5, "<unknown>" + std::string(5 << 20, 'x') + "</unknown>");
    shadow.send_signal(SIGINT);
    const auto r = shadow.wait();
    ASSERT_TRUE(r);
    const auto j = nlohmann::json::parse(r->out, nullptr, false);
    EXPECT_EQ(j["requests"]["compared"], 4) << r->out << r->err << apache_->error_log();
    EXPECT_EQ(j["requests"]["same"], 4) << r->out;
    EXPECT_FALSE(fs::exists(project_.folder() / "cgi-bin/.sluice_shadow"));
    EXPECT_TRUE(programs.named().contains(project_.folder() / "cgi-bin/cgi"));
    EXPECT_THAT(programs.open_in_place(), testing::IsEmpty()) << "the web server can't start them";
    expect_jobs(6);
}

TEST_F(TeeUnderApache, ClientsGetJobsWhateverBecomesOfTheShadow) {
    std::atomic<bool> over = false;
    std::atomic<int> asked = 0, wrong = 0;
    std::string example;
    std::thread clients([&] {
        for (int host = 1; !over; ++host, ++asked) {
            const HttpReply reply = ask(host);
            if (malformed(reply).empty() && reply.body.find("<result>") != std::string::npos) continue;
            if (wrong++ == 0) example = malformed(reply) + reply.body;
        }
    });
    const auto some_more = [&] {
        const int enough = asked + 3;
        EXPECT_TRUE(eventually([&] { return asked >= enough; }));
    };
    for (const int signal : {SIGKILL, SIGSTOP, SIGTERM}) {
        Subprocess shadow = start_shadow();
        some_more();
        shadow.send_signal(signal);
        some_more();
        if (signal == SIGSTOP) shadow.send_signal(SIGKILL);
        shadow.wait();
        some_more();
    }
    over = true;
    clients.join();
    EXPECT_EQ(wrong, 0) << example << apache_->error_log();
    EXPECT_FALSE(fs::exists(project_.folder() / "cgi-bin/cgi.behind_tee"));
}

/// Nobody knows its length: the scheduler reads it itself.
TEST_F(TeeUnderApache, ARequestInChunksIsServed) {
    const auto ask_by_chunks = [&](int host) {
        const std::string request = work_request(0, 1, 2000, "", 1, "host" + std::to_string(host));
        const HttpReply reply = http_bytes(apache_->port(), in_chunks("/test_cgi/cgi", request));
        EXPECT_THAT(reply.body, HasSubstr("<result>")) << project_.scheduler_log() << apache_->error_log();
        EXPECT_THAT(reply.body, HasSubstr("</scheduler_reply>"));
    };
    ask_by_chunks(1);
    Subprocess shadow = start_shadow();
    ask_by_chunks(2);
    expect_jobs(3);
    shadow.send_signal(SIGINT);
    EXPECT_TRUE(shadow.wait(60));
    ask_by_chunks(4);
}

}  // namespace
}  // namespace sluice::test
