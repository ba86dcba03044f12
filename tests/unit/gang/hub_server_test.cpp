// SPDX-License-Identifier: LGPL-3.0-or-later
// The hub's sockets: who may stay, and what may wait. Each turn is the test's.
#include "daemons/gang_hub/hub_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <future>
#include <vector>

#include "sluice/model/gang.h"
#include "tests/support/fake_clock.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;

struct OneGang final : GangDirectory {
    int size = 2;
    std::atomic<int> asked = 0;
    std::future<void> goes_on{};  ///< where it is valid: the directory hangs until then
    std::optional<GangFacts> find(const GangId&) override {
        ++asked;
        if (goes_on.valid()) goes_on.wait();
        return GangFacts{size};
    }
    std::vector<SeatInstance> instances(const GangSeat&) override { return {{gang_tag("a"), true}}; }
    void give_up(const GangId&, std::span<const MissedMember>, bool) override {}
    void end(const GangId&) override {}
};

class HubServerTest : public testing::Test {
  protected:
    inline static const std::string kProjectsSecret = "the secret of this project";
    void serve(const HubLimits& limits) {
        server.emplace(HubAddress{"127.0.0.1", 0}, limits, clock);
        desk.emplace(gangs, 2 * static_cast<std::size_t>(limits.connections));
        desk->open();
        hub.emplace(*desk, *server, limits, kProjectsSecret);
        server->serve(*hub, *desk);
    }
    int open() {
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_port = htons(static_cast<std::uint16_t>(server->port()));
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        OwnedFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
        fds.push_back(std::move(fd));
        return fds.back().get();
    }
    static void say(int fd, const std::string& text) {
        ASSERT_EQ(::send(fd, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
    }
    /// What has come until now.
    static std::string heard(int fd) {
        std::string all;
        char bytes[65536];
        for (ssize_t n; (n = ::recv(fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0;)
            all.append(bytes, static_cast<std::size_t>(n));
        return all;
    }
    int say_hello(int number, int gang = 0) {
        const int fd = open();
        const GangSeat seat{{12, gang}, number};
        say(fd, "HELLO " + gang_name(seat.gang) + " " + std::to_string(number) + " " +
                    gang_instance_token(gang_token(kProjectsSecret, seat), gang_tag("a")) + " 0\n");
        return fd;
    }
    int member(int number) {
        const int before = gangs.asked;
        const int fd = say_hello(number);
        // A turn may only accept the connection: the answer is there when the question was asked and none waits.
        while (gangs.asked == before || desk->waiting() > 0) server->turn(60);
        return fd;
    }
    FakeClock clock;
    OneGang gangs;
    std::optional<HubServer> server;
    std::optional<DatabaseQuestions> desk;
    std::optional<GangHub> hub;
    std::vector<OwnedFd> fds;
};

TEST_F(HubServerTest, LingeringStrangersKeepNoMemberOut) {
    HubLimits limits;
    limits.connections = 8;
    serve(limits);
    // All at the same instant: no time passes in which they are given up.
    for (int i = 0; i < 200; ++i) {
        open();
        server->turn(0);
    }
    const int a = member(0), b = member(1);
    server->turn(0);
    EXPECT_EQ(heard(a), "START 2 0\n");
    EXPECT_EQ(heard(b), "START 2 0\n");
}

TEST_F(HubServerTest, AReaderIsNotCancelledForManyMessages) {
    HubLimits limits;
    limits.queue = 65536;
    gangs.size = 6;
    serve(limits);
    std::vector<int> members;
    for (int i = 0; i < gangs.size; ++i) members.push_back(member(i));
    server->turn(0);
    for (const int fd : members) ASSERT_EQ(heard(fd), "START 6 0\n");
    const std::string text(20'000, 'x');
    for (const int fd : members) say(fd, "MESSAGE * " + text + "\n");
    std::vector<std::string> got(members.size());
    for (int turn = 0; turn < 20; ++turn) {
        server->turn(0);
        for (std::size_t i = 0; i < members.size(); ++i) got[i] += heard(members[i]);
    }
    for (const std::string& all : got) {
        EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 5);
        EXPECT_EQ(all.find("EXIT"), std::string::npos);
        EXPECT_EQ(all.size(), 5 * (std::string("MESSAGE 0 ").size() + text.size() + 1));
    }
}

TEST_F(HubServerTest, MembersTalkWhileTheDatabaseHangs) {
    std::promise<void> database;
    serve({});
    const int a = member(0), b = member(1);
    server->turn(0);
    ASSERT_EQ(heard(a) + heard(b), "START 2 0\nSTART 2 0\n");
    gangs.goes_on = database.get_future();
    const int c = say_hello(0, 1), d = say_hello(1, 1);
    while (desk->waiting() < 2) server->turn(60);
    for (int i = 0; i < 100; ++i) {
        const std::string text = std::to_string(i) + "\n";
        say(a, "MESSAGE 1 " + text);
        std::string got;
        while (got.empty()) server->turn(60), got = heard(b);
        ASSERT_EQ(got, "MESSAGE 0 " + text);
    }
    EXPECT_EQ(heard(c) + heard(d), "") << "they are not answered yet";
    database.set_value();
    while (desk->waiting() > 0) server->turn(60);
    server->turn(0);
    EXPECT_EQ(heard(c) + heard(d), "START 2 0\nSTART 2 0\n");
}

}  // namespace
}  // namespace sluice::test
