// SPDX-License-Identifier: LGPL-3.0-or-later
// What an admin can have kept and logged of requests: copies, triggers, levels. The debug_* flags of the pipeline
// itself: handle_test DebugFlag.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/base/files.h"
#include "sluice/base/project.h"
#include "tests/support/scheduler_world.h"

namespace sluice::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Debugging, RequestReplyAndLogAreKept) {
    SchedulerWorld world;
    fs::create_directories(world.folder() / "kept");
    share_with_web_server(world.folder() / "kept", 02770);
    world.config("<debug_req_reply_dir>" + (world.folder() / "kept").string() + "</debug_req_reply_dir>");
    world.start_feeder(5);
    const ReplyText reply = world.send(RequestText{});
    std::map<std::string, std::string> kept;  // by what follows the process's number
    for (const auto& entry : fs::directory_iterator(world.folder() / "kept")) {
        const std::string name = entry.path().filename().string();
        EXPECT_GT(std::stoi(name), 1) << name;
        kept[name.substr(name.find('_'))] = read_file(entry.path()).value();
        EXPECT_EQ(entry.status().permissions(), fs::perms(0640)) << name << ": account keys and addresses";
    }
    EXPECT_EQ(kept["_1_sched_request.xml"], RequestText{}.text());
    EXPECT_EQ(kept["_1_sched_reply.xml"], reply.text());
    EXPECT_THAT(kept["_1_sched.log"], HasSubstr("Request: [USER#1] [HOST#1]"));
    EXPECT_THAT(world.log(), HasSubstr(kept["_1_sched.log"])) << "a copy, not instead";
    EXPECT_EQ(kept.size(), 3u);
    world.config("<debug_req_reply_dir>/no/such/folder</debug_req_reply_dir>");
    EXPECT_EQ(world.send(RequestText{}).malformed(), "");
    EXPECT_THAT(world.log(), HasSubstr("[CRITICAL] debug_req_reply_dir: "));
}

TEST(Debugging, TriggerFileLeavesPairsInCurrentFolder) {
    SchedulerWorld world;
    world.start_feeder(5);
    RequestText r;
    r.hostid = world.add_host();
    r.seqno = 12;
    world.send(r);
    EXPECT_TRUE(fs::is_empty(world.folder() / "cgi-bin"));
    write_file_atomically(world.folder() / "debug_sched", "");
    const ReplyText reply = world.send(r);
    EXPECT_EQ(read_file(world.folder() / "cgi-bin/sched_reply_000001_000012"), reply.text());
    EXPECT_EQ(read_file(world.folder() / "cgi-bin/sched_request_000001_000012"), r.text());
    EXPECT_EQ(fs::status(world.folder() / "cgi-bin/sched_request_000001_000012").permissions(), fs::perms(0640));
    fs::create_directories(world.folder() / "kept");
    share_with_web_server(world.folder() / "kept", 02770);
    world.config("<debug_req_reply_dir>" + (world.folder() / "kept").string() + "</debug_req_reply_dir>");
    r.seqno = 13;
    const ReplyText other = world.send(r);
    EXPECT_EQ(read_file(world.folder() / "kept/sched_reply_000001_000013"), other.text()) << "where it may write";
    EXPECT_FALSE(fs::exists(world.folder() / "cgi-bin/sched_reply_000001_000013"));
}

TEST(Debugging, HeadersAndProcesses) {
    SchedulerWorld world("<debug_request_headers>1</debug_request_headers>");
    world.start_feeder(5);
    const RequestText r;
    world.send(r);
    const std::string length = std::to_string(r.text().size());
    EXPECT_THAT(world.log(), HasSubstr(" CONTENT_LENGTH=" + length + " from 127.0.0.1\n"));
    EXPECT_THAT(world.log(), Not(HasSubstr("(req details)")));
    EXPECT_THAT(world.log(), Not(HasSubstr("[fcgi]")));
    world.config("<debug_request_details>1</debug_request_details><debug_fcgi>1</debug_fcgi>");
    world.send(r, {{"HTTP_USER_AGENT", "BOINC client\n2026-01-01 forged"}});
    EXPECT_THAT(world.log(), HasSubstr(" (req details) REQUEST_METHOD=POST CONTENT_TYPE="));
    EXPECT_THAT(world.log(), HasSubstr("HTTP_USER_AGENT=BOINC client\\n2026-01-01 forged"));
    EXPECT_THAT(world.log(), HasSubstr("[fcgi] serving request 1"));
}

TEST(Debugging, UnknownOptionsAreNamedForAnHour) {
    SchedulerWorld world("<frobnicate>1</frobnicate>");
    world.start_feeder(5);
    const std::string told = "config.xml: unknown option <frobnicate> is ignored";
    world.send(RequestText{});
    EXPECT_THAT(world.log(), HasSubstr(told));
    // Under CGI each request reads config.xml anew.
    fs::last_write_time(world.folder() / "config.xml", fs::file_time_type::clock::now() - std::chrono::hours(2));
    fs::resize_file(log_dir(world.folder()) / "scheduler.log", 0);
    world.send(RequestText{});
    EXPECT_THAT(world.log(), AllOf(HasSubstr("Request: "), Not(HasSubstr(told))));
}

TEST(Debugging, LevelsOfTheLog) {
    SchedulerWorld world;
    world.start_feeder(5);
    const auto log_at = [&](int level) {
        fs::remove(log_dir(world.folder()) / "scheduler.log");
        world.config("<sched_debug_level>" + std::to_string(level) + "</sched_debug_level>");
        RequestText r;
        r.reported = {"never_heard_of"};
        EXPECT_EQ(world.send(r).malformed(), "");
        return world.log();
    };
    const std::string critical = log_at(1), normal = log_at(3), debug = log_at(4);
    EXPECT_THAT(critical, HasSubstr("reported result not in DB"));
    EXPECT_THAT(critical, Not(HasSubstr("Request: ")));
    EXPECT_THAT(normal, HasSubstr("Request: [USER#1] [HOST#1] [IP 127.0.0.1] client 8.0.2\n"));
    EXPECT_THAT(normal, HasSubstr("Sending reply to [HOST#1]: 0 results, delay req "));
    EXPECT_THAT(normal, Not(HasSubstr("[debug]")));
    EXPECT_THAT(debug, HasSubstr("[debug] query: SELECT"));
    EXPECT_THAT(debug, HasSubstr("[debug] RPC: "));
    for (const std::string& log : {critical, normal, debug})
        EXPECT_THAT(log, Not(HasSubstr(kKey))) << "no account keys";
}

}  // namespace
}  // namespace sluice::test
