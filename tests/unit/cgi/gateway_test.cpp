// SPDX-License-Identifier: LGPL-3.0-or-later
// Bodies as they come: how much is kept of whose, and how long they may take.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sched/cgi/fastcgi_records.h"
#include "sched/cgi/held_request.h"
#include "sched/cgi/request_body.h"
#include "sched/cgi/scheduler.h"
#include "sched/cgi/worker_pool.h"

namespace sluice {
namespace {

using namespace std::chrono_literals;

/// Gives `size` bytes in blocks; then the end, or nothing more in time.
class FakeGateway final : public Gateway {
  public:
    explicit FakeGateway(std::size_t size, bool breaks_off = false)
        : Gateway([] { return false; }), left_(size), breaks_off_(breaks_off) {}
    bool accept() override { return true; }
    std::string variable(const char*) const override { return ""; }
    ReadResult read(char* buffer, std::size_t size, Deadline) override {
        const std::size_t n = std::min(size, left_);
        std::fill(buffer, buffer + n, 'x');
        left_ -= n;
        return {n, n == 0 && breaks_off_};
    }
    void write(std::string_view) override {}
    void finish() override {}
    bool persistent() const override { return false; }
    std::size_t left() const { return left_; }

  private:
    std::size_t left_;
    bool breaks_off_;
};

constexpr std::size_t kMegabyte = 1 << 20;

struct Asked {
    int times = 0;
    std::size_t beginning = 0;
};
BodyRules rules(Asked& asked, bool known, std::size_t limit = 64 * kMegabyte) {
    BodyRules r;
    r.limit = limit;
    r.known = [&asked, known](std::string_view beginning) {
        ++asked.times;
        asked.beginning = beginning.size();
        return known;
    };
    return r;
}

TEST(Drain, NobodyIsAskedForAShortRequest) {
    FakeGateway gateway(256 * 1024);
    Asked asked;
    const RequestBody body = drain(gateway, rules(asked, false));
    EXPECT_EQ(body.text.size(), 256u * 1024);
    EXPECT_FALSE(body.too_long);
    EXPECT_EQ(asked.times, 0);
}

TEST(Drain, ALongRequestKeepsItsBeginning) {
    FakeGateway gateway(20 * kMegabyte);
    Asked asked;
    const RequestBody body = drain(gateway, rules(asked, false));
    EXPECT_LE(body.text.size(), 256u * 1024);
    EXPECT_GE(body.text.size(), 128u * 1024);
    EXPECT_LE(body.text.capacity(), 2 * 256u * 1024);
    EXPECT_TRUE(body.too_long);
    EXPECT_EQ(asked.times, 1);
    EXPECT_EQ(gateway.left(), 0u);
}

TEST(Drain, AccountsRequestIsKeptUpToLimit) {
    Asked asked;
    FakeGateway long_one(60 * kMegabyte), too_long(70 * kMegabyte);
    const RequestBody body = drain(long_one, rules(asked, true));
    EXPECT_EQ(body.text.size(), 60 * kMegabyte);
    EXPECT_FALSE(body.too_long);
    EXPECT_EQ(asked.times, 1);
    const RequestBody cut = drain(too_long, rules(asked, true));
    EXPECT_TRUE(cut.too_long);
    EXPECT_LE(cut.text.size(), 256u * 1024);
    EXPECT_EQ(too_long.left(), 0u);
}

TEST(Drain, ASmallLimitHolds) {
    Asked asked;
    FakeGateway gateway(kMegabyte);
    const RequestBody body = drain(gateway, rules(asked, true, 10000));
    EXPECT_TRUE(body.too_long);
    EXPECT_LE(body.text.size(), 10000u);
    EXPECT_EQ(asked.times, 0);
}

TEST(Drain, WhatBreaksOffIsSaid) {
    Asked asked;
    FakeGateway gateway(1000, true);
    const RequestBody body = drain(gateway, rules(asked, true));
    EXPECT_TRUE(body.too_slow);
    EXPECT_EQ(body.text.size(), 1000u);
}

/// Seconds after the beginning at which a sender of so many bytes a second is cut off; 0: never, of `total` bytes.
double cut_off_at(double bytes_per_second, double total) {
    const Pace pace;
    const Pace::Clock::time_point start{};
    for (double second = 0; second * bytes_per_second < total; ++second)
        if (start + std::chrono::duration_cast<Pace::Clock::duration>(std::chrono::duration<double>(second)) >
            pace.until(start, static_cast<std::size_t>(second * bytes_per_second)))
            return second;
    return 0;
}

TEST(Pace, AVolunteersLineIsQuickEnough) {
    EXPECT_EQ(cut_off_at(5000, 2e6), 0);
    EXPECT_EQ(cut_off_at(1200, 1e5), 0);
    EXPECT_EQ(cut_off_at(50000, 64e6), 0);
}

TEST(Pace, WhoDawdlesIsCutOff) {
    EXPECT_EQ(cut_off_at(0.001, 1e6), 31);
    EXPECT_LT(cut_off_at(600, 1e6), 80);
    EXPECT_GT(cut_off_at(600, 1e6), 31);
    EXPECT_EQ(cut_off_at(1001, 64e6), 1801) << "in the end everybody is";
}

std::string text_of(const HeldRequest& held) {
    if (held.file() < 0) return std::string(held.memory());
    std::string text(held.size() + 10, '\0');
    const ssize_t n = ::pread(held.file(), text.data(), text.size(), 0);
    text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
    return text;
}

TEST(Held, ParametersThenBodySmallOrLong) {
    for (const std::size_t size : {std::size_t{10}, HeldRequest::kInMemory, 3 * kMegabyte}) {
        HeldRequest held;
        ASSERT_TRUE(held.append_params("params"));
        std::string body;
        for (std::size_t i = 0; body.size() < size; ++i) {
            const std::string piece(std::min<std::size_t>(7001, size - body.size()), static_cast<char>('a' + i % 26));
            ASSERT_TRUE(held.append_body(piece));
            body += piece;
        }
        EXPECT_EQ(held.params_size(), 6u);
        EXPECT_EQ(held.body_size(), size);
        EXPECT_EQ(text_of(held), "params" + body);
    }
}

TEST(Held, TheBeginningCanBeKept) {
    for (const std::size_t size : {std::size_t{1000}, kMegabyte}) {
        HeldRequest held;
        ASSERT_TRUE(held.append_params("p") && held.append_body(std::string(size, 'a')));
        held.keep_beginning(10);
        ASSERT_TRUE(held.append_body("b"));
        EXPECT_EQ(text_of(held), "p" + std::string(10, 'a') + "b");
    }
}

std::vector<AddressRange> ranges(const std::vector<std::string>& texts) {
    std::vector<AddressRange> out;
    for (const std::string& text : texts) out.push_back(AddressRange::parse(text).value());
    return out;
}

TEST(ClientAddress, OnlyTheProjectsProxiesSpeakForOthers) {
    const auto proxies = ranges({"127.0.0.1", "10.1.0.0/16", "2001:db8:5::/48"});
    const struct {
        const char *remote, *forwarded, *address;
    } cases[] = {
        {"198.51.100.7", "", "198.51.100.7"},
        {"198.51.100.7", "203.0.113.9", "198.51.100.7"},
        {"127.0.0.1", "203.0.113.9", "203.0.113.9"},
        {"127.0.0.2", "203.0.113.9", "127.0.0.2"},
        {"10.1.2.3", "6.6.6.6, 203.0.113.9", "203.0.113.9"},
        {"10.1.2.3", "6.6.6.6, 203.0.113.9, 10.1.9.9,127.0.0.1", "203.0.113.9"},
        {"10.1.2.3", "10.1.9.9", "10.1.9.9"},
        {"10.2.2.3", "203.0.113.9", "10.2.2.3"},
        {"2001:db8:5::1", " 2001:db8::1 ", "2001:db8::1"},
        {"2001:db8:6::1", "203.0.113.9", "2001:db8:6::1"},
        {"::ffff:127.0.0.1", "203.0.113.9", "203.0.113.9"},
        {"::ffff:198.51.100.7", "203.0.113.9", "::ffff:198.51.100.7"},
        {"127.0.0.1", "a\nb", "a?b"},
        {"127.0.0.1", "1.2.3.4,", "127.0.0.1"},
        {"", "", "?.?.?.?"},
        {"", "203.0.113.9", "?.?.?.?"},
    };
    for (const auto& c : cases)
        EXPECT_EQ(client_address(c.remote, c.forwarded, proxies), c.address) << c.remote << c.forwarded;
    EXPECT_EQ(client_address("127.0.0.1", std::string(5000, 'a'), proxies).size(), 254u);
    EXPECT_EQ(client_address("127.0.0.1", "203.0.113.9", {}), "127.0.0.1") << "by default nobody does";
}

TEST(ClientAddress, Ranges) {
    const struct {
        const char *range, *address;
        bool holds;
    } cases[] = {
        {"192.0.2.7", "192.0.2.7", true},        {"192.0.2.7", "192.0.2.8", false},
        {"192.0.2.0/25", "192.0.2.127", true},   {"192.0.2.0/25", "192.0.2.128", false},
        {"172.16.0.0/12", "172.31.255.1", true}, {"172.16.0.0/12", "172.32.0.1", false},
        {"0.0.0.0/0", "203.0.113.9", true},      {"0.0.0.0/0", "2001:db8::1", false},
        {"::/0", "2001:db8::1", true},           {"2001:db8::/32", "2001:db8:ffff::1", true},
        {"2001:db8::/32", "2001:db9::1", false}, {"::ffff:10.0.0.0/104", "10.9.9.9", true},
        {"0.0.0.0/0", "somebody", false},
    };
    for (const auto& c : cases) EXPECT_EQ(AddressRange::parse(c.range).value().holds(c.address), c.holds) << c.range;
    for (const char* text : {"", "proxy.example.org", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "10.0.0/8", "::/129"})
        EXPECT_FALSE(AddressRange::parse(text)) << text;
}

/// A worker's process on one end of a channel: it replies with the parameters and the body of each request.
struct Echo {
    Echo() {
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        if (pid = ::fork(); pid != 0) return;
        ::dup2(ends[1], STDIN_FILENO);
        ::close(ends[0]);
        WorkerGateway gateway;
        while (gateway.accept()) {
            gateway.write(gateway.variable("NAME") + std::string(gateway.held()->text));
            gateway.finish();
        }
        ::_exit(0);
    }
    ~Echo() {
        ::close(ends[1]);
        ::close(ends[0]);
        ::waitpid(pid, nullptr, 0);
    }
    std::string reply() const {
        ReplyLength length = 0;
        EXPECT_EQ(::recv(ends[0], &length, sizeof length, MSG_WAITALL), static_cast<ssize_t>(sizeof length));
        std::string text(length, '\0');
        EXPECT_EQ(::recv(ends[0], text.data(), length, MSG_WAITALL), static_cast<ssize_t>(length));
        return text;
    }
    int ends[2];
    pid_t pid;
};

TEST(Worker, GetsShortRequestsAndLongOnesWhole) {
    const Echo worker;
    const std::string params = fastcgi::pair("NAME", "value");
    for (const std::size_t size : {std::size_t{0}, std::size_t{10}, HeldRequest::kInMemory - params.size(),
                                   HeldRequest::kInMemory, 3 * kMegabyte, std::size_t{1}}) {
        HeldRequest request;
        const std::string body(size, 'b');
        ASSERT_TRUE(request.append_params(params) && request.append_body(body));
        EXPECT_EQ(request.file() < 0, request.size() <= HeldRequest::kInMemory) << size;
        const Task task{HeldKind::kWhole, static_cast<std::uint32_t>(params.size()), size};
        ASSERT_TRUE(send_task(worker.ends[0], task, request));
        EXPECT_EQ(worker.reply(), "value" + body) << size;
    }
}

/// systemd signals every process of a unit: what a worker has begun, and may commit, is answered all the same.
TEST(Worker, AskedToEndItFinishesItsReply) {
    int ends[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    const pid_t worker = ::fork();
    if (worker == 0) {
        ::dup2(ends[1], STDIN_FILENO);
        handle_signals(true);
        WorkerGateway gateway;
        if (!gateway.accept()) ::_exit(2);
        ::raise(SIGTERM);
        gateway.write("reply");
        gateway.finish();
        ::_exit(gateway.accept() ? 3 : 0);
    }
    ::close(ends[1]);
    HeldRequest request;
    request.append_body("<scheduler_request>");
    ASSERT_TRUE(send_task(ends[0], {HeldKind::kWhole, 0, request.body_size()}, request));
    std::string said;
    char bytes[64];
    for (ssize_t n; (n = ::read(ends[0], bytes, sizeof bytes)) > 0;) said.append(bytes, static_cast<std::size_t>(n));
    EXPECT_EQ(said.substr(std::min(said.size(), sizeof(ReplyLength))), "reply");
    int status = -1;
    ::waitpid(worker, &status, 0);
    EXPECT_EQ(status, 0);
    ::close(ends[0]);
}

}  // namespace
}  // namespace sluice
