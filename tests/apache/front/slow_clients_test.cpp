// SPDX-License-Identifier: LGPL-3.0-or-later
// Slow clients at a real Apache with the shipped fragment: hundreds that send nothing do not keep others out and are
// sent away, while a volunteer with a slow line is served.
#include <arpa/inet.h>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <thread>
#include <utility>

#include "sluice/base/files.h"
#include "tests/support/paths.h"
#include "tests/support/scheduler_server.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;

/// A client whose pace the test decides.
class Client {
  public:
    explicit Client(int port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_port = htons(static_cast<std::uint16_t>(port));
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        connected_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
    }
    Client(Client&& other) noexcept : fd_(std::exchange(other.fd_, -1)), connected_(other.connected_) {}
    Client& operator=(Client&&) = delete;
    ~Client() {
        if (fd_ >= 0) ::close(fd_);
    }
    bool send(const std::string& bytes) const {
        return connected_ &&
               ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
    }
    /// All until the server closes; "no answer" if it does not within `seconds`.
    std::string answer(int seconds) const {
        std::string out;
        char buffer[65536];
        for (;;) {
            pollfd ready{fd_, POLLIN, 0};
            if (::poll(&ready, 1, seconds * 1000) <= 0) return "no answer";
            const ssize_t n = ::read(fd_, buffer, sizeof buffer);
            if (n <= 0) return out;
            out.append(buffer, static_cast<std::size_t>(n));
        }
    }

  private:
    int fd_;
    bool connected_ = false;
};

std::string head(std::size_t bytes) {
    return fmt::format(
        "POST /test_cgi/cgi HTTP/1.0\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n",
        bytes);
}

/// mod_reqtimeout as the shipped fragment sets it, with `grace` seconds instead of its 30 for a body. The rate, which
/// tells a slow line from nothing, is the shipped one.
std::string request_timeouts(int grace) {
    const auto shipped = read_file(std::filesystem::path(source_dir()) / "config/templates/httpd_common.conf").value();
    const std::string rule = "RequestReadTimeout header=20-40,MinRate=500 body=30,MinRate=1000\n";
    EXPECT_THAT(shipped, HasSubstr(rule));
    return "LoadModule reqtimeout_module /usr/lib/apache2/modules/mod_reqtimeout.so\n" +
           std::string("RequestReadTimeout header=20-40,MinRate=500 body=") + std::to_string(grace) + ",MinRate=1000\n";
}

class SlowClients : public testing::Test {
  protected:
    SlowClients() {
        project_.store();
        project_.start_feeder();
    }
    std::string request() { return work_request(host_, ++seqno_, 0); }
    /// A first contact, so that the others are of a host.
    void attach(SchedulerServer& served) {
        const HttpReply first = served.post(work_request(0, 1, 0));
        ASSERT_EQ(malformed(first), "") << served.logs();
        host_ = std::stoll(elements(first.body, "hostid").at(0));
    }
    TestProject project_{PrivateMariaDb::shared(), "slow"};
    Id host_ = 0;
    int seqno_ = 1;
};

TEST_F(SlowClients, HundredsThatSendNothingDoesntKeepOthersOut) {
    constexpr int kSlow = 300;  // Apache serves 400 at a time as it comes
    SchedulerServer served(project_, Served::kListen, request_timeouts(30));
    attach(served);
    std::vector<Client> slow;
    const std::string late = request();
    for (int i = 0; i < kSlow; ++i) {
        slow.emplace_back(served.port());
        ASSERT_TRUE(slow.back().send(head(late.size()) + late.substr(0, 100))) << i;
    }
    const auto start = std::chrono::steady_clock::now();
    constexpr int kOthers = 30;
    for (int i = 0; i < kOthers; ++i) ASSERT_EQ(malformed(served.post(request())), "") << i << served.logs();
    fmt::print("{} slow connections; {} requests of others in {:.2f} s\n", kSlow, kOthers,
               std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
}

TEST_F(SlowClients, SilentClientsAreClosedAndSlowOnesServed) {
    constexpr int kGrace = 2, kBytesPerSecond = 5000, kSeconds = 8;
    SchedulerServer served(project_, Served::kListen, request_timeouts(kGrace));
    attach(served);
    const Client silent(served.port());
    const Client modem(served.port());
    std::string body = request();
    const std::string end = "</scheduler_request>";
    body.insert(body.find(end), "<x>" + std::string(kBytesPerSecond * kSeconds, 'x') + "</x>\n");
    ASSERT_TRUE(silent.send(head(body.size()) + body.substr(0, 100)));
    ASSERT_TRUE(modem.send(head(body.size())));
    // Four times as long as the grace: only the rate, kept up all the time, lets it through.
    constexpr int kPieces = 5;
    const std::size_t piece = kBytesPerSecond / kPieces;
    for (std::size_t at = 0; at < body.size(); at += piece) {
        ASSERT_TRUE(modem.send(body.substr(at, piece))) << at << served.logs();
        std::this_thread::sleep_for(std::chrono::milliseconds(1000 / kPieces));
    }
    EXPECT_THAT(modem.answer(60), HasSubstr("<userid>1</userid>")) << served.logs();
    const std::string refused = silent.answer(60);
    EXPECT_NE(refused, "no answer") << "it would hold a thread for ever";
    EXPECT_THAT(refused, testing::Not(HasSubstr("<userid>1</userid>")));
}

}  // namespace
}  // namespace sluice::test
