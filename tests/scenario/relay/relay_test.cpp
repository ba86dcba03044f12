// SPDX-License-Identifier: LGPL-3.0-or-later
// cgi-bin/cgi as the relay that it is: what it hands to a resident scheduler, and what it does where none serves it.
// The scheduler that it becomes then answers from a stopped project, which needs no database.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <memory>
#include <regex>
#include <set>

#include "sched/rpc/messages.h"
#include "sched/rpc/reply.h"
#include "sluice/base/files.h"
#include "sluice/base/project.h"
#include "sluice/base/signing.h"
#include "sluice/shmem/job_array.h"
#include "tests/scenario/relay/fake_resident.h"
#include "tests/support/notify_socket.h"
#include "tests/support/paths.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kStopped = "Project is temporarily shut down for maintenance";
constexpr const char* kReply = "Content-type: text/xml\n\n<scheduler_reply>\n</scheduler_reply>\n";

class Relay : public testing::Test {
  protected:
    Relay() {
        fs::create_directory(folder_ / "cgi-bin");
        fs::create_directory(folder_ / "copies");
        folder_.write("config.xml",
                      "<boinc><config><db_name>none</db_name><db_host>localhost</db_host><shmem_key>0x1</shmem_key>"
                      "<debug_req_reply_dir>" +
                          (folder_ / "copies").string() + "</debug_req_reply_dir></config></boinc>\n");
        const KeyPairText keys = generate_key_pair();
        folder_.write("keys/code_sign_public", keys.public_key);
        folder_.write("keys/upload_private", keys.private_key);
        folder_.write("stop_sched", "");
    }
    RunOptions options(const std::string& body) const {
        RunOptions options;
        options.cwd = folder_ / "cgi-bin";
        options.stdin_text = body;
        options.env = {{"REQUEST_METHOD", "POST"},
                       {"CONTENT_LENGTH", std::to_string(body.size())},
                       {"REMOTE_ADDR", "192.0.2.1"},
                       {"HTTP_USER_AGENT", "BOINC client"},
                       {"DATABASE_PASSWORD", "no affair"}};
        options.unset = {"BOINC_PROJECT_DIR", "GATEWAY_INTERFACE"};
        return options;
    }
    RunResult send(const std::string& body = "<scheduler_request></scheduler_request>") const {
        return run({program()}, options(body));
    }
    static std::string program() { return binary_dir() + "/cgi-bin/cgi"; }
    void resident(FakeResident::Behaviour behaviour) {
        resident_ = std::make_unique<FakeResident>(folder_.path(), std::move(behaviour));
    }
    /// The requests that a scheduler of our own was given.
    std::vector<std::string> copies() const {
        std::vector<std::string> texts;
        for (const auto& entry : fs::directory_iterator(folder_ / "copies")) {
            if (entry.path().string().find("request") == std::string::npos) continue;
            std::ifstream in(entry.path());
            texts.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
        }
        return texts;
    }

    /// The client is told to try again later, and when: within some minutes.
    static void expect_sorry(const RunResult& result) {
        std::smatch found;
        ASSERT_TRUE(std::regex_search(result.out, found, std::regex("<request_delay>([0-9]+)<"))) << result.out;
        const int delay = std::stoi(found[1]);
        EXPECT_EQ(result.out, relay::sorry_reply(delay));
        EXPECT_GE(delay, relay::kLeastSorryDelay);
        EXPECT_LE(delay, relay::kMostSorryDelay);
    }

    TempDir folder_;
    std::unique_ptr<FakeResident> resident_;
};

TEST_F(Relay, WithoutAResidentOneItIsTheScheduler) {
    const RunResult result = send();
    EXPECT_EQ(result.status, 0);
    EXPECT_THAT(result.out, HasSubstr(kStopped)) << result.err;
}

TEST_F(Relay, CopiedAloneItIsTheScheduler) {
    fs::copy_file(program(), folder_ / "cgi-bin/cgi");
    RunOptions o = options("<scheduler_request></scheduler_request>");
    const RunResult result = run({(folder_ / "cgi-bin/cgi").string()}, o);
    EXPECT_THAT(result.out, HasSubstr(kStopped)) << result.err;
    o.env.clear();
    EXPECT_THAT(run({(folder_ / "cgi-bin/cgi").string(), "--help"}, o).out, HasSubstr("--listen"));
}

TEST_F(Relay, HandsOnTheRequestOnly) {
    resident({.reply = fastcgi::answer(1, kReply)});
    const std::string body = "<scheduler_request>" + std::string(3000, 'x') + "</scheduler_request>";
    const RunResult result = send(body);
    EXPECT_EQ(result.status, 0);
    EXPECT_EQ(result.out, kReply);
    EXPECT_EQ(result.err, "");
    EXPECT_EQ(resident_->body(), body);
    EXPECT_EQ(fastcgi::variable(resident_->params(), "REMOTE_ADDR"), "192.0.2.1");
    EXPECT_EQ(fastcgi::variable(resident_->params(), "HTTP_USER_AGENT"), "BOINC client");
    EXPECT_EQ(fastcgi::variable(resident_->params(), "CONTENT_LENGTH"), std::to_string(body.size()));
    EXPECT_THAT(resident_->params(), Not(HasSubstr("affair")));
    EXPECT_THAT(resident_->params(), Not(HasSubstr("PATH")));
}

TEST_F(Relay, ARequestFromAShellHasNoVariables) {
    resident({.reply = fastcgi::answer(1, kReply)});
    RunOptions o = options("<scheduler_request></scheduler_request>");
    o.env.clear();
    for (const char* name : relay::kVariables) o.unset.emplace_back(name);
    EXPECT_EQ(run({program()}, o).out, kReply);
    EXPECT_EQ(resident_->params(), "");
    EXPECT_EQ(resident_->ends_of_params(), 1);
}

TEST_F(Relay, AProjectPathMayExceedASockets) {
    const fs::path project = folder_ / std::string(120, 'p');
    fs::create_directory(project);
    resident_ = std::make_unique<FakeResident>(project, FakeResident::Behaviour{.reply = fastcgi::answer(1, kReply)});
    RunOptions o = options("<scheduler_request></scheduler_request>");
    o.unset.erase(o.unset.begin());
    o.env["BOINC_PROJECT_DIR"] = project.string();
    EXPECT_EQ(run({program()}, o).out, kReply);
}

TEST_F(Relay, LongRequestsAndRepliesPassWhole) {
    std::string body = "<scheduler_request>", reply = "Content-type: text/xml\n\n";
    for (int i = 0; body.size() < 5'000'000; ++i) body += std::to_string(i) + "\n";
    for (int i = 0; reply.size() < 1'000'000; ++i) reply += std::to_string(i) + "\n";
    resident({.reply = fastcgi::answer(1, reply)});
    const RunResult result = send(body);
    EXPECT_EQ(result.status, 0);
    EXPECT_TRUE(resident_->body() == body);
    EXPECT_TRUE(result.out == reply);
}

TEST_F(Relay, ResidentOneOfAnotherVersionIsLeftAlone) {
    resident({.version = "0"});
    EXPECT_THAT(send().out, HasSubstr(kStopped));
    EXPECT_EQ(resident_->requests(), 0);
}

TEST_F(Relay, ASilentResidentIsNotAwaited) {
    resident({.answers = false});
    EXPECT_THAT(send().out, HasSubstr(kStopped));
    EXPECT_EQ(resident_->requests(), 0);
}

TEST_F(Relay, ARefusedRequestIsDoneHereWhole) {
    const std::string refused{0, 0, 0, 0, relay::kOverloaded, 0, 0, 0};
    resident({.reply = fastcgi::record(fastcgi::kEndRequest, 1, refused)});
    const std::string body = "<scheduler_request>" + std::string(100'000, 'x') + "</scheduler_request>";
    const RunResult result = send(body);
    EXPECT_THAT(result.out, HasSubstr(kStopped)) << result.err;
    EXPECT_EQ(resident_->requests(), 1);
    EXPECT_TRUE(copies() == std::vector<std::string>{body});
}

TEST_F(Relay, ARefusedBrokenRequestIsDoneHere) {
    const std::string refused{0, 0, 0, 0, relay::kOverloaded, 0, 0, 0};
    resident({.reply = fastcgi::record(fastcgi::kEndRequest, 1, refused)});
    RunOptions short_one = options("<scheduler_request></scheduler_request>");
    short_one.env["CONTENT_LENGTH"] = "40";
    const RunResult result = run({program()}, short_one);
    EXPECT_THAT(result.out, HasSubstr(kStopped)) << result.err;
    const fs::path log = log_dir(folder_.path()) / "scheduler.log";
    EXPECT_THAT(read_file(log).value_or(""), HasSubstr("broke off")) << log << result.err;
}

TEST_F(Relay, ARequestPerhapsServedIsNotRepeated) {
    resident({});  // takes it whole and closes
    const RunResult result = send();
    EXPECT_EQ(result.status, 0);
    expect_sorry(result);
    EXPECT_THAT(result.err, HasSubstr("gave no reply"));
    EXPECT_THAT(copies(), testing::IsEmpty());
    resident_.reset();
    EXPECT_EQ(relay::sorry_reply(77), write_early_reply(relay::kSorry, 77, false));
}

TEST_F(Relay, AStoppedProjectSaysComeBackLater) {
    folder_.write("relay_only", "");
    const RunResult result = send();
    EXPECT_EQ(result.status, 0);
    expect_sorry(result);
    EXPECT_THAT(result.err, HasSubstr("relay_only forbids"));
    EXPECT_THAT(copies(), testing::IsEmpty());
    resident({.reply = fastcgi::answer(1, kReply)});
    EXPECT_EQ(send().out, kReply);
}

/// Half of the project may be another server's: neither a resident scheduler nor one of its own gets the request.
TEST_F(Relay, DuringAMoveItAnswersItself) {
    folder_.write("sluice_moving", "");
    resident({.reply = fastcgi::answer(1, kReply)});
    const std::string reply = write_early_reply(messages::kMaintenance, relay::kMovingDelay, false);
    const auto expect_told = [&](const RunOptions& with) {
        const RunResult result =
            run({"/bin/bash", "-c", "head -c 1000000 /dev/zero | \"$0\"; exit ${PIPESTATUS[0]}", program()}, with);
        EXPECT_EQ(result.status, 0) << "the request is read first";
        EXPECT_EQ(result.out, reply) << "as the scheduler says it";
        EXPECT_THAT(result.err, HasSubstr("sluice_moving is there"));
    };
    RunOptions with = options("");
    with.env.erase("CONTENT_LENGTH");
    expect_told(with);
    folder_.write("relay_only", "");
    expect_told(with);
    EXPECT_EQ(resident_->requests(), 0);
    EXPECT_THAT(copies(), testing::IsEmpty());
    EXPECT_LE(relay::kMovingDelay, 60);
    fs::remove(folder_ / "sluice_moving");
    EXPECT_EQ(send().out, kReply);
}

TEST_F(Relay, ThoseToTryLaterDoesntComeBackTogether) {
    folder_.write("relay_only", "");
    std::set<std::string> replies;
    for (int i = 0; i < 20; ++i) {
        const RunResult result = send();
        expect_sorry(result);
        replies.insert(result.out);
    }
    EXPECT_GT(replies.size(), 10u) << "of 241 times";
}

TEST_F(Relay, AStoppedProjectReadsTheRequestFirst) {
    folder_.write("relay_only", "");
    RunOptions with = options("");
    with.env.erase("CONTENT_LENGTH");
    const RunResult result =
        run({"/bin/bash", "-c", "head -c 1000000 /dev/zero | \"$0\"; exit ${PIPESTATUS[0]}", program()}, with);
    EXPECT_EQ(result.status, 0) << "who hands the request on would be cut off, as Apache's mod_cgid is";
    expect_sorry(result);
}

TEST_F(Relay, AStoppedProjectDefersARefusedRequest) {
    folder_.write("relay_only", "");
    const std::string refused{0, 0, 0, 0, relay::kOverloaded, 0, 0, 0};
    resident({.reply = fastcgi::record(fastcgi::kEndRequest, 1, refused)});
    const RunResult result = send();
    expect_sorry(result);
    EXPECT_EQ(resident_->requests(), 1);
    EXPECT_THAT(copies(), testing::IsEmpty()) << "no scheduler ran in the web server's account";
}

TEST_F(Relay, ALeftOverSocketIsInNobodysWay) {
    resident({});
    const fs::path socket = folder_ / ("pid_" + short_host_name()) / relay::kSocket;
    resident_.reset();
    ASSERT_TRUE(fs::exists(socket));
    EXPECT_THAT(send().out, HasSubstr(kStopped));
}

TEST_F(Relay, HoldsLittleMemoryWhateverIsSent) {
    resident({.reply = fastcgi::answer(1, kReply)});
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    RunOptions o = options(std::string(10'000'000, 'x'));
    o.stdin_text.clear();
    o.stdin_fd = ends[0];
    Subprocess relay({program()}, o);
    ::close(ends[0]);
    const std::string block(1 << 20, 'x');
    for (int i = 0; i < 9; ++i)
        ASSERT_EQ(::write(ends[1], block.data(), block.size()), static_cast<ssize_t>(block.size()));
    std::ifstream status("/proc/" + std::to_string(relay.pid()) + "/status");
    long most = 0;
    for (std::string word; status >> word;)
        if (word == "VmHWM:") status >> most;
    ::close(ends[1]);
    EXPECT_EQ(relay.wait().value_or(RunResult{}).out, kReply);
    EXPECT_GT(most, 100);
    EXPECT_LE(most, 2048) << "KB";
}

TEST_F(Relay, WithOptionsItIsTheScheduler) {
    RunOptions o = options("");
    o.env.clear();
    o.unset = {"REQUEST_METHOD", "GATEWAY_INTERFACE"};
    resident({.reply = fastcgi::answer(1, kReply)});
    EXPECT_THAT(run({program(), "--help"}, o).out, HasSubstr("--listen"));
    EXPECT_EQ(resident_->requests(), 0);
}

// systemd, with Type=notify and WatchdogSec.
TEST_F(Relay, TheResidentSchedulerTellsItsServiceManager) {
    NotifySocket manager((folder_ / "notify").string());
    RunOptions with_manager = options("");
    for (const char* name : {"REQUEST_METHOD", "CONTENT_LENGTH", "REMOTE_ADDR"}) with_manager.env.erase(name);
    with_manager.env["NOTIFY_SOCKET"] = manager.name();
    with_manager.env["WATCHDOG_USEC"] = "20000000";
    Subprocess scheduler({binary_dir() + "/bin/scheduler"}, with_manager);
    ASSERT_TRUE(manager.is_told("READY=1\nSTATUS=Serves requests at ../pid_")) << scheduler.err();
    EXPECT_TRUE(manager.is_told("/scheduler.sock; there is no job array: does the feeder run?\n"));
    fs::create_directory(job_array_name(1, folder_.path()).publication);
    EXPECT_TRUE(manager.is_told("/scheduler.sock\n")) << "it is there";
    EXPECT_THAT(send().out, HasSubstr(kStopped));
    const auto said = manager.told().size();
    EXPECT_TRUE(eventually([&] { return manager.told().size() > said; }));
    EXPECT_THAT(manager.told().back(), testing::Eq("WATCHDOG=1\n"));
    scheduler.send_signal(SIGTERM);
    ASSERT_TRUE(scheduler.wait());
    EXPECT_THAT(manager.told().back(), testing::StartsWith("STOPPING=1\n"));
}

// NAME.scheduler.service calls it so.
TEST_F(Relay, AFastcgiServerTellsItsManager) {
    NotifySocket manager((folder_ / "notify").string());
    RunOptions with_manager = options("");
    for (const char* name : {"REQUEST_METHOD", "CONTENT_LENGTH", "REMOTE_ADDR"}) with_manager.env.erase(name);
    with_manager.env["NOTIFY_SOCKET"] = manager.name();
    with_manager.env["WATCHDOG_USEC"] = "120000000";
    const std::string socket = (folder_ / "s").string();
    Subprocess server({program(), "--listen", socket, "--processes", "1-2"}, with_manager);
    ASSERT_TRUE(manager.is_told("READY=1\nSTATUS=Serves requests at " + socket)) << server.err();
    EXPECT_TRUE(fs::is_socket(socket));
    EXPECT_TRUE(manager.is_told("WATCHDOG=1\n"));
    server.send_signal(SIGTERM);
    ASSERT_TRUE(server.wait());
    EXPECT_THAT(manager.told().back(), testing::StartsWith("STOPPING=1\n"));
}

}  // namespace
}  // namespace sluice::test
