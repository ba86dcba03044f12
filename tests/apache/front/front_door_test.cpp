// SPDX-License-Identifier: LGPL-3.0-or-later
// The way in, as a web server or anybody near the socket may use it: slow, long, without an account, in thousands. What
// others get meanwhile, and what it costs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <fmt/core.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>
#include <utility>

#include "tests/support/peak_memory.h"
#include "tests/support/scheduler_world.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string record(int type, const std::string& content) {
    std::string header{
        1, static_cast<char>(type), 0, 1, static_cast<char>(content.size() >> 8), static_cast<char>(content.size()), 0,
        0};
    return header + content;
}
std::string length(std::size_t n) {
    if (n < 128) return std::string(1, static_cast<char>(n));
    return {static_cast<char>(0x80 | (n >> 24)), static_cast<char>(n >> 16), static_cast<char>(n >> 8),
            static_cast<char>(n)};
}
std::string pair(const std::string& name, const std::string& value) {
    return length(name.size()) + length(value.size()) + name + value;
}

/// A web server's connection to a FastCGI server.
class Connection {
  public:
    explicit Connection(const fs::path& path) : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_un at{};
        at.sun_family = AF_UNIX;
        path.string().copy(at.sun_path, sizeof at.sun_path - 1);
        connected_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
    }
    Connection(Connection&& other) noexcept : fd_(std::exchange(other.fd_, -1)), connected_(other.connected_) {}
    Connection& operator=(Connection&&) = delete;
    ~Connection() {
        if (fd_ >= 0) ::close(fd_);
    }
    bool connected() const { return connected_; }

    bool send(const std::string& bytes) const {
        for (std::size_t at = 0; at < bytes.size();) {
            const ssize_t n = ::send(fd_, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
            if (n <= 0) return false;
            at += static_cast<std::size_t>(n);
        }
        return true;
    }
    bool begin(bool keep = false, const std::string& address = "127.0.0.1") const {
        return send(record(1, std::string{0, 1, static_cast<char>(keep ? 1 : 0), 0, 0, 0, 0, 0}) +
                    record(4, pair("REQUEST_METHOD", "POST") + pair("REMOTE_ADDR", address)) + record(4, ""));
    }
    bool body(const std::string& text, std::size_t piece = 60000) const {
        for (std::size_t at = 0; at < text.size(); at += piece)
            if (!send(record(5, text.substr(at, piece)))) return false;
        return true;
    }
    bool end() const { return send(record(5, "")); }
    /// The reply: all that comes on stdout until the request, or the connection, ends. Empty after `seconds` without.
    std::string reply(int seconds = 60) const {
        std::string in, out;
        char buffer[65536];
        for (;;) {
            pollfd ready{fd_, POLLIN, 0};
            if (::poll(&ready, 1, seconds * 1000) <= 0) return "";
            const ssize_t n = ::read(fd_, buffer, sizeof buffer);
            if (n <= 0) return out;
            in.append(buffer, static_cast<std::size_t>(n));
            const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(in[i]); };
            while (in.size() >= 8 && in.size() >= 8u + byte(4) * 256u + byte(5) + byte(6)) {
                const std::size_t size = byte(4) * 256u + byte(5);
                if (byte(1) == 6) out += in.substr(8, size);
                if (byte(1) == 3) return out;
                in.erase(0, 8 + size + byte(6));
            }
        }
    }
    /// True when the server has closed it.
    bool closed() const {
        char byte = 0;
        return ::recv(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
    }

  private:
    int fd_;
    bool connected_ = false;
};

class FrontDoor : public testing::Test {
  protected:
    void serve(const std::string& processes, std::map<std::string, std::string> env = {}) {
        world_.start_feeder(20);
        host_ = world_.add_host();
        RunOptions options = world_.run_options("", std::move(env));
        for (const char* name : {"REQUEST_METHOD", "CONTENT_LENGTH", "REMOTE_ADDR"}) {
            options.unset.emplace_back(name);
            options.env.erase(name);
        }
        server_.emplace(std::vector<std::string>{SchedulerWorld::program(), "--listen", socket().string(),
                                                 "--processes", processes},
                        options);
        ASSERT_TRUE(server_->wait_for_output("listening on")) << server_->err();
    }
    fs::path socket() const { return world_.folder() / "s"; }
    RequestText request(const std::string& more = "") {
        RequestText r;
        r.hostid = host_;
        r.seqno = ++seqno_;
        r.more = more;
        return r;
    }
    std::string ask(const std::string& text) const {
        const Connection c(socket());
        if (!c.begin() || !c.body(text) || !c.end()) return "can't send";
        return c.reply();
    }
    /// Ends by SIGTERM, soon, and so do its workers.
    void end_server() {
        server_->send_signal(SIGTERM);
        const auto ended = server_->wait();
        ASSERT_TRUE(ended) << "it does not end";
        EXPECT_EQ(ended->status, 0) << ended->err;
        EXPECT_THAT(ended->err, testing::Not(HasSubstr("had to be killed")));
    }

    SchedulerWorld world_;
    std::optional<Subprocess> server_;
    Id host_ = 0;
    int seqno_ = 0;
};

/// As many as this process may open, 10,000 if it may.
std::size_t thousands() {
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
    return std::min<std::size_t>(10000, files.rlim_cur / 2);
}

TEST_F(FrontDoor, KeptConnectionsDoNotHoldUpTheEnd) {
    serve("1-2");
    const Connection kept(socket()), begun(socket()), silent(socket());
    ASSERT_TRUE(kept.begin(true) && kept.body(request().text()) && kept.end());
    EXPECT_THAT(kept.reply(), HasSubstr("<userid>1</userid>"));
    ASSERT_TRUE(begun.begin(true));
    EXPECT_FALSE(kept.closed());
    end_server();
    EXPECT_TRUE(kept.closed());
}

TEST_F(FrontDoor, OthersAreServedWhileThousandsDawdle) {
    serve("1-4");
    const std::size_t n = thousands();
    ASSERT_GE(n, 400u) << "raise the limit of open files (ulimit -n)";
    const std::string late = request().text();
    std::vector<Connection> slow;
    for (std::size_t i = 0; i < n; ++i) {
        slow.emplace_back(socket());
        ASSERT_TRUE(slow.back().begin() && slow.back().body(late.substr(0, 100))) << i;
    }
    const auto start = std::chrono::steady_clock::now();
    constexpr int kRequests = 100;
    for (int i = 0; i < kRequests; ++i) {
        ASSERT_TRUE(slow[static_cast<std::size_t>(i)].body(late.substr(100, 1)));
        ASSERT_THAT(ask(request().text()), HasSubstr("<userid>1</userid>")) << i << server_->err();
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    fmt::print("{} slow connections; {} requests of others in {:.2f} s; the server's peak is {} KB\n", n, kRequests,
               took.count(), peak_memory(server_->pid()) / 1024);
    // None of the slow ones has lost anything.
    ASSERT_TRUE(slow.back().body(late.substr(100)) && slow.back().end());
    EXPECT_THAT(slow.back().reply(), HasSubstr("<scheduler_reply>"));
    end_server();
}

TEST_F(FrontDoor, ALongReportInSmallPiecesIsStored) {
    serve("1");
    constexpr int kJobs = 32;
    const auto names = world_.add_in_progress(host_, kJobs);
    std::string results;
    for (const std::string& name : names)
        results += fmt::format(
            "<result>\n<name>{}</name>\n<exit_status>0</exit_status>\n<state>5</state>\n<final_cpu_time>1</final_cpu_time>\n"
            "<stderr_out>{}</stderr_out>\n</result>\n",
            name, std::string(64000, 'e'));
    const std::string text = request(results).text();
    ASSERT_GT(text.size(), 2000000u);
    const Connection slow(socket());
    ASSERT_TRUE(slow.begin());
    // As a modem's packets come; in between others are served by the only worker.
    for (std::size_t at = 0; at < text.size(); at += 100000) {
        ASSERT_TRUE(slow.body(text.substr(at, 100000), 1400));
        ASSERT_THAT(ask(request().text()), HasSubstr("<scheduler_reply>"));
    }
    seqno_ += 100;
    ASSERT_TRUE(slow.end());
    EXPECT_THAT(slow.reply(), HasSubstr("<result_ack>"));
    EXPECT_EQ(world_.number(Sql("SELECT COUNT(*) FROM result WHERE server_state=5 AND LENGTH(stderr_out)=64000")),
              kJobs);
    end_server();
}

TEST_F(FrontDoor, OfAStrangersRequestTheBeginningIsKept) {
    serve("1");
    ASSERT_THAT(ask(request().text()), HasSubstr("<userid>1</userid>"));
    const std::string log = world_.log();
    const auto at = log.find("[PID=");
    const pid_t worker = std::stoi(log.substr(at + 5));
    const std::size_t before = peak_memory(server_->pid()) + peak_memory(worker);
    ASSERT_GT(before, 0u);
    RequestText stranger = request("<x>" + std::string(60u << 20, 'x') + "</x>");
    stranger.authenticator = "00000000000000000000000000000000";
    for (const Id host : {host_, Id{0}}) {
        stranger.hostid = host;
        EXPECT_THAT(ask(stranger.text()), HasSubstr("Invalid or missing account key"));
    }
    const std::size_t after = peak_memory(server_->pid()) + peak_memory(worker);
    fmt::print("two requests of 60 MB without an account: peak of server and worker {} -> {} KB\n", before / 1024,
               after / 1024);
    EXPECT_LT(after - before, 8u << 20);
    // Of an account, so long as the limit allows.
    EXPECT_THAT(ask(request("<x>" + std::string(60u << 20, 'x') + "</x>").text()), HasSubstr("<userid>1</userid>"));
    EXPECT_THAT(ask(request("<x>" + std::string(65u << 20, 'x') + "</x>").text()), HasSubstr("request too large"));
    EXPECT_EQ(world_.number(Sql("SELECT COUNT(*) FROM host")), 1);
    end_server();
}

TEST_F(FrontDoor, ReportMayTakeTwiceItsSizeInMemory) {
    serve("1");
    ASSERT_THAT(ask(request().text()), HasSubstr("<userid>1</userid>"));
    const std::string log = world_.log();
    const pid_t worker = std::stoi(log.substr(log.find("[PID=") + 5));
    constexpr int kJobs = 300;
    std::string results;
    for (const std::string& name : world_.add_in_progress(host_, kJobs))
        results += fmt::format(
            "<result>\n<name>{}</name>\n<exit_status>0</exit_status>\n<state>5</state>\n<final_cpu_time>1</final_cpu_time>\n"
            "<stderr_out>{}</stderr_out>\n</result>\n",
            name, std::string(65000, 'e'));
    const std::string text = request(results).text();
    std::string().swap(results);
    EXPECT_THAT(ask(text), HasSubstr("<result_ack>"));
    EXPECT_EQ(world_.number(Sql("SELECT COUNT(*) FROM result WHERE server_state=5 AND LENGTH(stderr_out)=65000")),
              kJobs);
    const std::size_t peak = peak_memory(worker);
    fmt::print("a report of {} KB: the worker's peak is {} KB\n", text.size() / 1024, peak / 1024);
    // The worker's copy and little else: what was read of the text does not stay in memory.
    EXPECT_LE(peak, text.size() + text.size() / 2 + (8u << 20));
    end_server();
}

TEST_F(FrontDoor, KeptConnectionsHoldNothingUp) {
    serve("1-2");
    std::vector<Connection> kept;
    for (int i = 0; i < 20; ++i) {
        kept.emplace_back(socket());
        const std::string text = request().text();
        ASSERT_TRUE(kept.back().begin(true) && kept.back().body(text) && kept.back().end());
        ASSERT_THAT(kept.back().reply(), HasSubstr("<userid>1</userid>"));
        EXPECT_FALSE(kept.back().closed());
    }
    // And the first one again.
    const std::string text = request().text();
    ASSERT_TRUE(kept.front().begin(true) && kept.front().body(text) && kept.front().end());
    EXPECT_THAT(kept.front().reply(), HasSubstr("<userid>1</userid>"));
    end_server();
}

TEST_F(FrontDoor, ADyingWorkersClientsComeBack) {
    world_.add_jobs(3);
    serve("1-2", {{"SLUICE_KILL_AT", "before_commit"}});
    RequestText r = request();
    for (int i = 0; i < 2; ++i) {
        const std::string reply = ask(r.text());
        EXPECT_THAT(reply, HasSubstr("Server error: try again later"));
        EXPECT_THAT(reply, HasSubstr("</scheduler_reply>"));
        EXPECT_THAT(reply, testing::ContainsRegex("<request_delay>[0-9]+</request_delay>"));
    }
    end_server();
}

TEST_F(FrontDoor, WhatIsNoFastCgiIsClosed) {
    serve("1");
    for (const std::string& bytes :
         {std::string("GET / HTTP/1.0\r\n\r\n"), record(5, "body first"), record(4, pair("A", "B")),
          record(1, std::string{0, 2, 0, 0, 0, 0, 0, 0}), record(1, "short"),
          record(1, std::string{0, 1, 0, 0, 0, 0, 0, 0}) + record(5, "body before the parameters have ended"),
          record(1, std::string{0, 1, 0, 0, 0, 0, 0, 0}) + record(4, std::string(65000, 'x')) +
              record(4, std::string(65000, 'x'))}) {
        const Connection c(socket());
        c.send(bytes);
        EXPECT_TRUE(eventually([&] { return c.closed(); })) << bytes.substr(0, 20);
    }
    EXPECT_THAT(ask(request().text()), HasSubstr("<userid>1</userid>"));
    end_server();
}

TEST_F(FrontDoor, TheSocketIsNotForAll) {
    serve("1");
    struct stat info {};
    ASSERT_EQ(::stat(socket().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0660u);
    struct stat folder {};
    ASSERT_EQ(::stat(world_.folder().c_str(), &folder), 0);
    EXPECT_EQ(info.st_gid, folder.st_gid);
}

TEST_F(FrontDoor, WorkersComeWithWorkUpToTheirNumber) {
    const fs::path gate = world_.gate();
    world_.add_jobs(20);
    std::vector<Id> hosts;
    for (int i = 0; i < 4; ++i) hosts.push_back(world_.add_host());
    serve("1-3", {{"SLUICE_PAUSE_AT", "before_commit:" + gate.string()}});
    const auto workers = [&] {
        std::ifstream in(fmt::format("/proc/{0}/task/{0}/children", server_->pid()));
        int n = 0;
        for (std::string pid; in >> pid;) ++n;
        return n;
    };
    EXPECT_TRUE(eventually([&] { return workers() == 1; })) << workers();
    std::vector<Connection> asking;
    for (const Id host : hosts) {
        asking.emplace_back(socket());
        ASSERT_TRUE(asking.back().begin() && asking.back().body(test::asking(host, 100).text()) && asking.back().end());
    }
    EXPECT_TRUE(eventually([&] { return fs::exists(gate) && workers() == 3; })) << workers();
    // The fourth comes to the gate when one of the others has gone through.
    std::atomic<bool> served = false;
    std::thread opener([&] { EXPECT_TRUE(eventually([&] { return fs::remove(gate), served.load(); }, 120)); });
    for (const Connection& c : asking) EXPECT_THAT(c.reply(), HasSubstr("</scheduler_reply>"));
    served = true;
    opener.join();
    EXPECT_EQ(workers(), 3);
    end_server();
}

}  // namespace
}  // namespace sluice::test
