// SPDX-License-Identifier: LGPL-3.0-or-later
// One process, many requests: what changes meanwhile is noticed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <csignal>

#include "sluice/base/files.h"
#include "sluice/base/project.h"
#include "tests/support/live_scheduler.h"

namespace sluice::test {
namespace {

using ::testing::HasSubstr;

class FastCgi : public ::testing::Test {
  protected:
    ReplyText post(const RequestText& request) {
        const ReplyText reply = live_.post(request);
        EXPECT_EQ(reply.malformed(), "") << world.log();
        return reply;
    }
    RequestText of_host(int seqno, double seconds = 0) {
        RequestText r;
        r.hostid = host_;
        r.seqno = seqno;
        r.work_seconds = seconds;
        return r;
    }
    SchedulerWorld world;
    Id host_ = world.add_host();

    LiveScheduler live_{world};
};

TEST_F(FastCgi, ConnectionsToTheDatabaseAndTheArrayStay) {
    world.add_jobs(3);
    world.start_feeder(10);
    std::set<std::string> names;
    for (int i = 1; i <= 3; ++i)
        for (const std::string& name : post(of_host(i, 5)).result_names()) EXPECT_TRUE(names.insert(name).second);
    EXPECT_EQ(names.size(), 3u);
    EXPECT_EQ(world.slots(SlotState::kClaimed), 0);
    EXPECT_EQ(world.number(Sql("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE DB=DATABASE()")), 2)
        << "this test's own and one of the program";
}

TEST_F(FastCgi, RestartedFeederIsFoundAndStoppedOneNoticed) {
    world.add_jobs(2);
    world.start_feeder(10);
    EXPECT_EQ(post(of_host(1, 5)).result_names().size(), 1u);
    world.stop_feeder();
    EXPECT_TRUE(post(of_host(2, 5)).has("<project_is_down/>"));
    world.start_feeder(20);
    EXPECT_EQ(post(of_host(3, 5)).result_names().size(), 1u) << world.log();
}

TEST_F(FastCgi, AKeptConnectionDoesNotDelayTheEnd) {
    world.start_feeder(10);
    const std::string body = of_host(1).text();
    const int kept = live_.socket().kept_connection(
        {{"REMOTE_ADDR", "10.9.9.9"}, {"REQUEST_METHOD", "POST"}, {"CONTENT_LENGTH", std::to_string(body.size())}},
        body);
    live_.program().send_signal(SIGTERM);
    const auto result = live_.program().wait();
    ::close(kept);
    ASSERT_TRUE(result) << "it waits for a request that never comes";
    EXPECT_EQ(result->status, 0);
}

TEST_F(FastCgi, TheLastRequestBeforeTheEndIsServed) {
    world.start_feeder(10);
    const std::string body = of_host(1).text(), beginning = body.substr(0, body.size() / 2);
    const int connection = live_.socket().begin_request(
        {{"REMOTE_ADDR", "10.9.9.9"}, {"REQUEST_METHOD", "POST"}, {"CONTENT_LENGTH", std::to_string(body.size())}},
        beginning);
    ASSERT_TRUE(eventually([&] { return FastcgiSocket::all_read(connection); }));
    live_.program().send_signal(SIGTERM);
    ASSERT_TRUE(eventually([&] { return live_.program().signal_arrived(SIGTERM); }));
    FastcgiSocket::send_body(connection, body.substr(beginning.size()));
    FastcgiSocket::send_body(connection, "");
    EXPECT_THAT(FastcgiSocket::reply_on(connection), HasSubstr("<userid>1</userid>")) << world.log();
    const auto result = live_.program().wait();
    ::close(connection);
    ASSERT_TRUE(result);
    EXPECT_EQ(result->status, 0);
}

TEST_F(FastCgi, ConfigurationIsRereadUnlessItIsWrong) {
    world.start_feeder(10);
    EXPECT_FALSE(post(of_host(1)).has("<next_rpc_delay>"));
    world.config("<next_rpc_delay>1000</next_rpc_delay>");
    EXPECT_EQ(post(of_host(2)).value("next_rpc_delay"), "1000.000000");
    write_file_atomically(world.folder() / "config.xml", "<boinc><config><next_rpc_delay>oops");
    EXPECT_EQ(post(of_host(3)).value("next_rpc_delay"), "1000.000000");
    EXPECT_THAT(world.log(), HasSubstr("going on with the configuration read before"));
    world.config("<next_rpc_delay>5</next_rpc_delay>");
    EXPECT_EQ(post(of_host(4)).value("next_rpc_delay"), "5.000000");
    write_file_atomically(world.folder() / "gui_urls.xml", "<gui_urls><x><hostid/></x></gui_urls>");
    EXPECT_TRUE(post(of_host(5)).has("<gui_urls><x>1</x></gui_urls>"));
    for (const char* name : {"stop_sched", "sluice_moving"}) {
        write_file_atomically(world.folder() / name, "");
        EXPECT_TRUE(post(of_host(6)).has("maintenance")) << name;
        fs::remove(world.folder() / name);
    }
    EXPECT_TRUE(post(of_host(7)).has("<userid>1</userid>"));
}

TEST_F(FastCgi, OnlyATrustedProxySpeaksForOthers) {
    world.start_feeder(10);
    const auto logged = [&](int seqno) {
        const std::string body = of_host(seqno).text();
        live_.socket().request({{"REMOTE_ADDR", "10.9.9.9"},
                                {"HTTP_X_FORWARDED_FOR", fmt::format("192.0.2.{}", seqno)},
                                {"REQUEST_METHOD", "POST"},
                                {"CONTENT_LENGTH", std::to_string(body.size())}},
                               body);
        return world.log().find(fmt::format("[IP 192.0.2.{}]", seqno)) != std::string::npos;
    };
    EXPECT_FALSE(logged(1));
    world.config("<trusted_proxy>10.9.0.0/16</trusted_proxy>");
    EXPECT_TRUE(logged(2)) << world.log();
}

TEST_F(FastCgi, VariantsAndOldKeysAreReadAgain) {
    const auto write = [&](const std::string& file, const std::string& text) {
        fs::create_directories((world.folder() / file).parent_path());
        write_file_atomically(world.folder() / file, text);
    };
    write("buda_apps/x/cpu/variant.json", "{}");
    write("keys/old_key_0", "an old key");
    world.start_feeder(10);
    const auto with_gpu_and_key = [&](int seqno) {
        RequestText r = of_host(seqno, 5);
        r.more =
            "<coprocs><coproc_cuda><count>1</count></coproc_cuda></coprocs>\n"
            "<code_sign_key>\nan old key\n</code_sign_key>\n";
        return post(r);
    };
    ReplyText reply = with_gpu_and_key(1);
    EXPECT_TRUE(reply.has("<no_rsc_apps>NVIDIA</no_rsc_apps>")) << reply.text();
    EXPECT_TRUE(reply.has("changed its security key")) << reply.text();
    write("buda_apps/x/cuda/variant.json", R"({"plan_class": "cuda"})");
    write("keys/signature_0", "signed");
    write("keys/signature_stripped_0", "signed");
    reply = with_gpu_and_key(2);
    EXPECT_FALSE(reply.has("<no_rsc_apps>NVIDIA</no_rsc_apps>")) << reply.text();
    EXPECT_TRUE(reply.has("<code_sign_key_signature>\nsigned\n")) << reply.text();
    write("buda_apps/x/cuda/variant.json", R"({"plan_class": "mt"})");
    EXPECT_TRUE(with_gpu_and_key(3).has("<no_rsc_apps>NVIDIA</no_rsc_apps>")) << "changed in place";
}

TEST_F(FastCgi, AMovedLogIsReopenedSighupIsHarmless) {
    world.start_feeder(10);
    post(of_host(1));
    const fs::path log = log_dir(world.folder()) / "scheduler.log";
    fs::rename(log, world.folder() / "rotated");
    live_.program().send_signal(SIGHUP);
    post(of_host(2));
    EXPECT_THAT(world.log(), HasSubstr("Request: [USER#1] [HOST#1] [IP 10.9.9.9]"));
    EXPECT_THAT(read_file(world.folder() / "rotated").value(), HasSubstr("Request: [USER#1]"));
}

TEST_F(FastCgi, TheDatabaseRestartsUnderIt) {
    world.start_feeder(10);
    post(of_host(1));
    PrivateMariaDb::shared().stop();
    EXPECT_TRUE(post(of_host(2)).has("<project_is_down/>"));
    PrivateMariaDb::shared().start();
    world.db().disconnect();
    EXPECT_TRUE(post(of_host(3)).has("<userid>1</userid>")) << world.log();
}

TEST_F(FastCgi, AnOversizeRequestIsRefusedAndServiceContinues) {
    world.config("<max_process_memory>50000000</max_process_memory>");
    world.start_feeder(10);
    EXPECT_TRUE(post(of_host(1)).has("<userid>1</userid>"));
    RequestText large = of_host(2);
    large.more = "<x>" + std::string(60u << 20, 'x') + "</x>\n";
    EXPECT_TRUE(post(large).has("Server error: try again later"));
    EXPECT_THAT(world.log(), HasSubstr("request not handled: std::bad_alloc"));
    EXPECT_TRUE(post(of_host(2)).has("<userid>1</userid>"));
    world.config("");
    EXPECT_TRUE(post(large).has("<userid>1</userid>")) << "by default every request that is not too long passes";
}

class FastCgiSignal : public FastCgi, public ::testing::WithParamInterface<int> {};
TEST_P(FastCgiSignal, EndsItAfterItsRequest) {
    world.start_feeder(10);
    post(of_host(1));
    live_.program().send_signal(GetParam());
    const auto end = live_.program().wait();
    ASSERT_TRUE(end);
    EXPECT_EQ(end->status, 0);
}
INSTANTIATE_TEST_SUITE_P(All, FastCgiSignal, ::testing::Values(SIGTERM, SIGINT));

}  // namespace
}  // namespace sluice::test
