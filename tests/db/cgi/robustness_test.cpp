// SPDX-License-Identifier: LGPL-3.0-or-later
// Whatever comes in and whatever is missing: one well-formed reply, exit status 0, a line in the log that says what to
// do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "sluice/base/files.h"
#include "sluice/base/project.h"

#include "tests/support/captures.h"
#include "tests/support/scheduler_world.h"
#include "tests/support/segment_files.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::string nested(int depth) {
    std::string text = "<scheduler_request>\n";
    for (int i = 0; i < depth; ++i) text += "<a>";
    return text + "</scheduler_request>";
}

TEST(Malformed, RequestsGetOneReplyAndWriteNothing) {
    SchedulerWorld world;
    world.start_feeder(5);
    const std::string valid = RequestText{}.text();
    std::string binary;
    for (int i = 0; i < 20000; ++i) binary += static_cast<char>(i * 7919 >> 3);
    for (const std::string& body :
         {std::string(), valid.substr(0, valid.size() / 2), binary, std::string(50u << 20, 'x'), nested(100000),
          std::string("<scheduler_request><result><stderr_out><![CDATA[ no end"),
          "<scheduler_request>" + std::string(100, '\0'), std::string("\xff\xfe<scheduler_request>"),
          std::string("<scheduler_request>") + std::string(1u << 20, '<')}) {
        const ReplyText reply = world.send_raw(body);
        EXPECT_EQ(reply.malformed(), "") << body.substr(0, 60);
        EXPECT_GE(reply.messages().size(), 1u) << body.substr(0, 60);
    }
    EXPECT_EQ(world.number(Sql("SELECT COUNT(*) FROM host")), 0);
}

TEST(Malformed, TooLongIsReadAndThrownAway) {
    SchedulerWorld world("<max_request_bytes>1000000</max_request_bytes>");
    world.start_feeder(5);
    std::string body = RequestText{}.text();
    body.insert(body.rfind("</scheduler_request>"), "<x>" + std::string(20u << 20, 'y') + "</x>");
    const ReplyText reply = world.send_raw(body);
    EXPECT_EQ(reply.malformed(), "");
    EXPECT_THAT(world.log(), HasSubstr("longer than <max_request_bytes> 1000000"));
    EXPECT_EQ(world.number(Sql("SELECT COUNT(*) FROM host")), 0);
}

TEST(Malformed, ABrowserAsks) {
    SchedulerWorld world;
    world.start_feeder(5);
    const ReplyText reply = world.send_raw("", {{"REQUEST_METHOD", "GET"}, {"CONTENT_LENGTH", ""}});
    EXPECT_EQ(reply.malformed(), "");
    EXPECT_TRUE(reply.has("Error in request message"));
}

TEST(Malformed, WrongContentLengthDoesNotCutRequest) {
    SchedulerWorld world;
    world.start_feeder(5);
    for (const char* length : {"-1", "abc", "", "10"}) {
        const ReplyText reply = world.send_raw(RequestText{}.text(), {{"CONTENT_LENGTH", length}});
        EXPECT_EQ(reply.malformed(), "") << length;
        EXPECT_TRUE(reply.has("<userid>1</userid>")) << length;
    }
}

/// Its client has gone: jobs and a host id would be given to nobody, though all of what came is a request.
TEST(Malformed, OfRequestThatBreaksOffNothingIsDone) {
    SchedulerWorld world;
    world.start_feeder(5);
    const std::string body = RequestText{}.text();
    for (const std::size_t missing : {std::size_t{1}, std::size_t{99'999'999}}) {
        const ReplyText reply = world.send_raw(body, {{"CONTENT_LENGTH", std::to_string(body.size() + missing)}});
        EXPECT_EQ(reply.malformed(), "") << missing;
        EXPECT_TRUE(reply.has("Error in request message: no end tag")) << missing;
    }
    EXPECT_EQ(world.number(Sql("SELECT COUNT(*) FROM host")), 0);
    EXPECT_THAT(world.log(), HasSubstr("broke off"));
    EXPECT_TRUE(world.send_raw(body).has("<userid>1</userid>"));
}

TEST(Malformed, WordsOfAQueryStringAreNoOptions) {
    SchedulerWorld world;
    world.start_feeder(5);
    RunOptions options = world.run_options(RequestText{}.text(), {{"GATEWAY_INTERFACE", "CGI/1.1"}});
    const ReplyText reply{run({SchedulerWorld::program(), "--batch", "--nonsense"}, options)};
    EXPECT_EQ(reply.malformed(), "");
    EXPECT_TRUE(reply.has("<userid>1</userid>"));
}

void expect_come_back(SchedulerWorld& world, const std::string& message, const std::string& log) {
    const ReplyText reply = world.send(RequestText{});
    EXPECT_EQ(reply.malformed(), "");
    EXPECT_TRUE(reply.has("<project_is_down/>"));
    EXPECT_TRUE(reply.has("<request_delay>3600")) << reply.text();
    ASSERT_EQ(reply.messages().size(), 1u) << reply.text();
    EXPECT_THAT(reply.messages()[0], HasSubstr(message));
    EXPECT_THAT(world.log() + reply.run.err, HasSubstr(log));
}

TEST(Missing, Feeder) {
    SchedulerWorld world;
    expect_come_back(world, "Server error: feeder not running", "feeder");
    world.start_feeder(5);
    world.stop_feeder();
    expect_come_back(world, "Server error: feeder not running", "feeder");
}

TEST(Missing, FirstFill) {
    SchedulerWorld world;
    world.start_feeder(5);
    world.array().set_ready(false);
    expect_come_back(world, "Server error: feeder not running", "not filled");
}

TEST(Missing, LayoutOfOurs) {
    SchedulerWorld world;
    world.start_feeder(5);
    // Another version's segment: the magic number is damaged.
    FILE* f = std::fopen(content_file(world.array_name()).c_str(), "r+b");
    ASSERT_NE(f, nullptr);
    const char junk[64] = "not a job array";
    std::fwrite(junk, 1, sizeof junk, f);
    std::fclose(f);
    const ReplyText reply = world.send(RequestText{});
    EXPECT_EQ(reply.malformed(), "");
    EXPECT_TRUE(reply.has("<project_is_down/>"));
}

TEST(Missing, ConfigFile) {
    SchedulerWorld world;
    world.start_feeder(5);
    fs::remove(world.folder() / "config.xml");
    RunOptions options = world.run_options(RequestText{}.text(), {{"BOINC_PROJECT_DIR", world.folder().string()}});
    options.unset.clear();
    const ReplyText reply{run({SchedulerWorld::program()}, options)};
    EXPECT_EQ(reply.malformed(), "");
    EXPECT_TRUE(reply.has("<project_is_down/>"));
    EXPECT_THAT(reply.run.err + world.log(), HasSubstr("config.xml"));
}

TEST(Missing, AGoodConfigFile) {
    SchedulerWorld world;
    world.start_feeder(5);
    world.config("<uldl_dir_fanout>many</uldl_dir_fanout>");
    expect_come_back(world, "Server can't parse configuration file", "uldl_dir_fanout");
    world.config("<db_name></db_name>");
    expect_come_back(world, "Server can't parse configuration file", "<db_name> is missing");
}

// Each told every client to come back in an hour before.
TEST(WrongValues, CostTheirOptionNotTheProject) {
    for (const char* wrong : {"<max_wus_to_send>many</max_wus_to_send>", "<ban_os>a(b</ban_os>",
                              "<score_weights><hardnes>1</hardnes></score_weights>",
                              "<score_weights><hardness>much</hardness></score_weights>",
                              "<decision_log>some</decision_log>", "<compat_level>2</compat_level>"}) {
        SCOPED_TRACE(wrong);
        SchedulerWorld world(wrong);
        world.add_jobs(2);
        world.start_feeder(5);
        RequestText request;
        request.work_seconds = 1;
        const ReplyText reply = world.send(request);
        EXPECT_EQ(reply.malformed(), "");
        EXPECT_EQ(reply.result_names().size(), 1U) << world.log();
        const std::string log = world.log(), what = std::string(wrong).substr(1, std::string(wrong).find('>') - 1);
        const std::size_t told = log.find("<" + what + ">");
        ASSERT_NE(told, std::string::npos) << log;
        EXPECT_EQ(log.find("<" + what + ">", log.find('\n', told)), std::string::npos) << "one line\n" << log;
    }
}

TEST(Missing, SigningKey) {
    SchedulerWorld world;
    world.start_feeder(5);
    fs::remove(world.folder() / "keys/code_sign_public");
    expect_come_back(world, "Server can't find key file", "code_sign_public");
}

TEST(Missing, Database) {
    SchedulerWorld world;
    world.start_feeder(5);
    world.config("<db_name>nosuchdatabase</db_name>");
    expect_come_back(world, "Server can't open database", "nosuchdatabase");
    world.config("<db_user>nosuchuser</db_user><db_passwd>wrong</db_passwd>");
    expect_come_back(world, "Server can't open database", "nosuchuser");
}

TEST(Missing, ServiceByIntention) {
    SchedulerWorld world("<maintenance_delay>3600</maintenance_delay>");
    world.start_feeder(5);
    std::ofstream(world.folder() / "stop_sched").flush();
    expect_come_back(world, "Project is temporarily shut down for maintenance", "");
    const ReplyText as_captured = world.send_raw(capture("12_client_stop_sched.request"));
    EXPECT_EQ(as_captured.text(), "Content-type: text/plain\n\n" + capture("12_client_stop_sched.reply"));
    RunOptions options = world.run_options(RequestText{}.text(), {});
    options.unset.push_back("REQUEST_METHOD");
    options.env.erase("REQUEST_METHOD");
    const ReplyText debug{run({SchedulerWorld::program(), "--debug_log"}, options)};
    EXPECT_TRUE(debug.has("<userid>1</userid>")) << "--debug_log ignores it";
    EXPECT_TRUE(fs::exists(world.folder() / "cgi-bin/debug_log"));
}

TEST(Missing, SpaceForTheLog) {
    SchedulerWorld world;
    world.start_feeder(5);
    const fs::path log = log_dir(world.folder());
    fs::create_directories(log);
    fs::create_symlink("/dev/full", log / "scheduler.log");
    const ReplyText reply = world.send(RequestText{});
    EXPECT_EQ(reply.malformed(), "");
    EXPECT_TRUE(reply.has("<userid>1</userid>"));
}

TEST(Missing, FolderForTheLog) {
    SchedulerWorld world;
    world.start_feeder(5);
    std::ofstream(log_dir(world.folder())).flush();  // a file where the folder should be
    const ReplyText reply = world.send(RequestText{});
    EXPECT_EQ(reply.malformed(), "");
    EXPECT_TRUE(reply.has("<userid>1</userid>"));
    EXPECT_THAT(reply.run.err, HasSubstr("stderr"));
}

/// `cgi --batch` with a pipe as its input.
class Batch : public testing::Test {
  protected:
    explicit Batch(const std::string& config = "") : world_(config) {
        world_.start_feeder(5);
        request_.hostid = world_.add_host();
    }
    ~Batch() override { close_input(); }
    void start(const std::map<std::string, std::string>& given = {}) {
        int ends[2];
        ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
        RunOptions options = world_.run_options("", given);
        for (const char* name : {"REQUEST_METHOD", "CONTENT_LENGTH", "GATEWAY_INTERFACE"}) {
            if (given.contains(name)) continue;
            options.unset.emplace_back(name);
            options.env.erase(name);
        }
        options.stdin_fd = ends[0];
        input_ = ends[1];
        program_.emplace(std::vector<std::string>{SchedulerWorld::program(), "--batch"}, options);
        ::close(ends[0]);
    }
    void write(const std::string& text) const {
        for (std::size_t at = 0; at < text.size();) {
            const ssize_t n = ::write(input_, text.data() + at, text.size() - at);
            ASSERT_GT(n, 0);
            at += static_cast<std::size_t>(n);
        }
    }
    void close_input() {
        if (input_ >= 0) ::close(std::exchange(input_, -1));
    }
    std::string request(std::int64_t seqno, const std::string& inside = "") {
        request_.seqno = seqno;
        std::string text = request_.text();
        return text.insert(text.rfind("</scheduler_request>"), inside);
    }
    int replies() const { return ReplyText{{0, 0, 0, program_->out(), ""}}.count("</scheduler_reply>"); }
    ReplyText end_input() {
        close_input();
        const auto result = program_->wait();
        EXPECT_TRUE(result && result->status == 0);
        return {result.value_or(RunResult{})};
    }

    SchedulerWorld world_;
    RequestText request_;
    std::optional<Subprocess> program_;
    int input_ = -1;
};

TEST_F(Batch, EachRequestIsAnsweredBeforeTheNextComes) {
    start();
    int answered = 0;
    for (const int seqno : {5, 3, 1}) {
        write(request(seqno));
        ++answered;
        EXPECT_TRUE(eventually([&] { return replies() == answered; })) << program_->out();
    }
    const ReplyText reply = end_input();
    EXPECT_EQ(reply.count("<scheduler_reply>"), 3);
    EXPECT_EQ(reply.count("Content-type: text/xml"), 3) << "as upstream, each with its header";
    EXPECT_FALSE(reply.has("<hostid>"));
    EXPECT_EQ(world_.number(Sql("SELECT COUNT(*) FROM host")), 1) << "sequence numbers are not checked";
    EXPECT_EQ(world_.number(Sql("SELECT rpc_seqno FROM host")), 1);
}

TEST_F(Batch, LengthInEnvironmentSaysNothingOfStream) {
    const std::string first = request(1);
    start({{"CONTENT_LENGTH", std::to_string(first.size())}});
    write(first);
    EXPECT_TRUE(eventually([&] { return replies() == 1; })) << program_->out();
    write(request(2));
    EXPECT_TRUE(eventually([&] { return replies() == 2; })) << program_->out();
    EXPECT_EQ(end_input().count("<scheduler_reply>"), 2);
}

TEST_F(Batch, AConfigurationChangedWhileReadIsReread) {
    const fs::path gate = world_.gate(), config = world_.folder() / "config.xml";
    start({{"SLUICE_PAUSE_AT", "config_read:" + gate.string()}});
    write(request(1));
    ASSERT_TRUE(eventually([&] { return fs::exists(gate); }));
    // It has read the file and not yet gone on.
    std::string text = read_file(config).value_or("");
    const auto end = text.find("</config>");
    ASSERT_NE(end, std::string::npos);
    write_file_atomically(config, text.insert(end, "<next_rpc_delay>4711</next_rpc_delay>\n"));
    fs::remove(gate);
    ASSERT_TRUE(eventually([&] { return replies() == 1; })) << program_->out();
    write(request(2));
    EXPECT_TRUE(eventually([&] { return fs::remove(gate), replies() == 2; })) << program_->out();
    EXPECT_EQ(end_input().count("<next_rpc_delay>4711"), 1);
}

TEST_F(Batch, WithoutAnEndTagItIsAnsweredOnce) {
    start();
    write(request(1) + "\n\n" + request(2) + "\n<scheduler_request>\n<hostid>");
    const ReplyText reply = end_input();
    EXPECT_EQ(reply.count("<scheduler_reply>"), 3);
    EXPECT_EQ(reply.count("Error in request message: no end tag"), 1);
}

TEST_F(Batch, AnEmptyInputIsOneEmptyRequest) {
    start();
    const ReplyText reply = end_input();
    EXPECT_EQ(reply.count("<scheduler_reply>"), 1);
    EXPECT_EQ(reply.count("Error in request message"), 1);
}

class LongBatch : public Batch {
  protected:
    LongBatch() : Batch("<max_request_bytes>300000</max_request_bytes>") {}
};

TEST_F(LongBatch, TheLimitIsThatOfOneRequest) {
    start();
    const std::string padding = "<x>" + std::string(200000, 'y') + "</x>";
    for (int i = 1; i <= 10; ++i) write(request(i, padding));
    write(request(11, padding + padding + padding));
    write(request(12));
    const ReplyText reply = end_input();
    EXPECT_EQ(reply.count("<scheduler_reply>"), 12);
    EXPECT_EQ(reply.count("Error in request message"), 1);
    EXPECT_EQ(world_.number(Sql("SELECT rpc_seqno FROM host")), 12);
    EXPECT_THAT(world_.log(), HasSubstr("longer than <max_request_bytes> 300000"));
}

}  // namespace
}  // namespace sluice::test
