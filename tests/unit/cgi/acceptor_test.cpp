// SPDX-License-Identifier: LGPL-3.0-or-later
// The bounds of the front door, each from both sides: what is just allowed stays, what is beyond it is closed, refused
// or told to come back. There is no worker here unless a test starts one: whatever is whole waits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/sockios.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <list>
#include <optional>
#include <thread>

#include "sched/cgi/acceptor.h"
#include "sched/cgi/relay_protocol.h"
#include "sluice/base/log.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;

class Client {
  public:
    explicit Client(const sockaddr_un& at) : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
        EXPECT_EQ(::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0) << std::strerror(errno);
    }
    int fd() const { return fd_.get(); }
    void write(const std::string& text) {
        to_send_ += text;
        push();
    }
    /// Whether the other end has read all of it.
    bool push() {
        const ssize_t n = ::send(fd_.get(), to_send_.data(), to_send_.size(), MSG_NOSIGNAL);
        if (n > 0) to_send_.erase(0, static_cast<std::size_t>(n));
        int unread = 0;
        ::ioctl(fd_.get(), SIOCOUTQ, &unread);
        return to_send_.empty() && unread == 0;
    }
    void begin() { write(fastcgi::record(fastcgi::kBeginRequest, 1, {"\0\1\0\0\0\0\0\0", 8})); }
    void params(std::size_t bytes) { pieces(fastcgi::kParams, bytes); }
    void body(std::size_t bytes) { pieces(fastcgi::kStdin, bytes); }
    void end_params() { write(fastcgi::record(fastcgi::kParams, 1, "")); }
    void end_body() { write(fastcgi::record(fastcgi::kStdin, 1, "")); }
    void reading(std::size_t bytes) {
        begin();
        end_params();
        if (bytes > 0) body(bytes);
    }
    void whole() {
        reading(0);
        end_body();
    }
    /// Closed by the other end; what it said before is in said().
    bool closed() {
        char bytes[4096];
        for (;;) {
            const ssize_t n = ::recv(fd_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
            if (n <= 0) return n == 0 || (errno != EAGAIN && errno != EINTR);
            said_.append(bytes, static_cast<std::size_t>(n));
        }
    }
    const std::string& said() {
        closed();
        return said_;
    }

  private:
    void pieces(fastcgi::RecordType type, std::size_t bytes) {
        for (std::size_t n; bytes > 0; bytes -= n)
            write(fastcgi::record(type, 1, std::string(n = std::min<std::size_t>(bytes, 60000), 'x')));
    }
    OwnedFd fd_;
    std::string to_send_, said_;
};

class FrontDoorLimits : public testing::Test {
  protected:
    FrontDoorLimits() : level_(log_level()) {
        log_set_level(LogLevel::kCritical);
        sigemptyset(&outside_);
        at_.sun_family = AF_UNIX;
        std::strncpy(at_.sun_path, (folder_ / "s").c_str(), sizeof at_.sun_path - 1);
        EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&at_), sizeof at_), 0);
        EXPECT_EQ(::listen(listener_.get(), 128), 0);
    }
    ~FrontDoorLimits() override { log_set_level(level_); }
    /// The pace lets nobody be late unless a test says otherwise.
    static AcceptorLimits generous() {
        AcceptorLimits limits;
        limits.pace.grace = limits.pace.most = 3600s;
        limits.keep_idle = limits.patience = 3600s;
        return limits;
    }
    void open(const AcceptorLimits& limits) {
        door_.emplace(listener_.get(), workers_, limits, [this] { return "come back " + std::to_string(++sorries_); });
    }
    Client& client() { return clients_.emplace_back(at_); }
    /// Lets the door work until all that was sent has been read, or its sender turned away.
    void let_in() {
        const auto open = [&] {
            return std::count_if(clients_.begin(), clients_.end(), [](Client& c) { return !c.closed() && !c.push(); });
        };
        for (const auto until = std::chrono::steady_clock::now() + 30s; open() > 0; door_->turn())
            if (std::chrono::steady_clock::now() > until) return ADD_FAILURE() << "nobody reads";
    }
    bool eventually(const std::function<bool()>& condition) {
        for (const auto until = std::chrono::steady_clock::now() + 30s; std::chrono::steady_clock::now() < until;) {
            if (condition()) return true;
            for (Client& c : clients_) c.push();
            door_->turn();
        }
        return false;
    }

    TempDir folder_;
    LogLevel level_;
    sigset_t outside_{};
    sockaddr_un at_{};
    OwnedFd listener_{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    WorkerPool workers_{{0, 0}, [] { return 0; }, outside_};
    int sorries_ = 0;
    std::optional<Acceptor> door_;
    std::list<Client> clients_;
};

/// END_REQUEST that says that nothing was done.
std::string refused() { return fastcgi::record(fastcgi::kEndRequest, 1, {"\0\0\0\0\2\0\0\0", 8}); }

TEST_F(FrontDoorLimits, ParametersOfSixtyFourKilobytes) {
    open(generous());
    Client &fits = client(), &too_long = client();
    for (Client* c : {&fits, &too_long}) c->begin();
    fits.params(65536);
    fits.end_params();
    fits.end_body();
    too_long.params(65537);
    let_in();
    EXPECT_FALSE(fits.closed());
    EXPECT_TRUE(door_->busy()) << "it waits for a worker";
    EXPECT_TRUE(too_long.closed());
    EXPECT_THAT(too_long.said(), IsEmpty());
}

TEST_F(FrontDoorLimits, QuestionsOfFiveHundredAndTwelveBytes) {
    open(generous());
    Client &fits = client(), &too_long = client(), &in_pieces = client();
    // Of other things than the relay's: no answer, and the connection stays.
    fits.write(fastcgi::record(fastcgi::kGetValues, 0, std::string(512, '\0')));
    too_long.write(fastcgi::record(fastcgi::kGetValues, 0, std::string(513, '\0')));
    for (int i = 0; i < 2; ++i) in_pieces.write(fastcgi::record(fastcgi::kGetValues, 0, std::string(300, '\0')));
    let_in();
    EXPECT_FALSE(fits.closed());
    EXPECT_TRUE(too_long.closed());
    EXPECT_TRUE(in_pieces.closed());
}

TEST_F(FrontDoorLimits, TheSlowestConnectionMakesRoom) {
    AcceptorLimits limits = generous();
    limits.connections = 3;
    open(limits);
    Client &quick = client(), &slow = client(), &quicker = client();
    quick.reading(2000), slow.reading(10), quicker.reading(3000);
    let_in();
    for (Client& c : clients_) EXPECT_FALSE(c.closed());
    client().reading(1000);
    let_in();
    EXPECT_TRUE(slow.closed());
    EXPECT_EQ(slow.said(), refused());
    EXPECT_EQ(std::count_if(clients_.begin(), clients_.end(), [](Client& c) { return c.closed(); }), 1);
}

TEST_F(FrontDoorLimits, AWaitingClientIsNotClosed) {
    AcceptorLimits limits = generous();
    limits.connections = 2;
    open(limits);
    client().whole();
    Client& reading = client();
    reading.reading(100'000);
    let_in();
    client().reading(10);
    let_in();
    EXPECT_FALSE(clients_.front().closed());
    EXPECT_TRUE(reading.closed());
}

TEST_F(FrontDoorLimits, OfUnfinishedRequestsTooMuchLongestIsClosed) {
    AcceptorLimits limits = generous();
    limits.held_bytes = 100'000;
    open(limits);
    Client &longest = client(), &other = client();
    longest.reading(60'000), other.reading(40'000);
    let_in();
    for (Client& c : clients_) EXPECT_FALSE(c.closed()) << "just what may be held";
    Client& one_byte = client();
    one_byte.reading(1);
    let_in();
    EXPECT_TRUE(longest.closed());
    EXPECT_EQ(longest.said(), refused());
    EXPECT_FALSE(other.closed());
    EXPECT_FALSE(one_byte.closed());
    // What it held is free again.
    client().reading(59'999);
    let_in();
    EXPECT_EQ(std::count_if(clients_.begin(), clients_.end(), [](Client& c) { return c.closed(); }), 1);
}

// In the four tests below one connection has to go: when it is gone, the others have been looked at, too.
TEST_F(FrontDoorLimits, ConnectionWithoutRequestIsKeptForWhile) {
    AcceptorLimits limits = generous();
    limits.keep_idle = 0s;
    open(limits);
    Client &idle = client(), &reading = client(), &waiting = client();
    idle.write(fastcgi::record(fastcgi::kGetValues, 0, "x"));
    reading.reading(10), waiting.whole();
    EXPECT_TRUE(eventually([&] { return idle.closed(); }));
    EXPECT_FALSE(reading.closed() || waiting.closed());
}

TEST_F(FrontDoorLimits, ARequestHasToComeInTime) {
    AcceptorLimits limits = generous();
    limits.pace.grace = 0s;
    limits.pace.bytes_per_second = 1000;
    open(limits);
    Client &silent = client(), &quick = client(), &idle = client(), &waiting = client();
    silent.reading(0), quick.reading(100'000), waiting.whole();
    idle.write(fastcgi::record(fastcgi::kGetValues, 0, "x"));
    EXPECT_TRUE(eventually([&] { return silent.closed(); }));
    EXPECT_EQ(silent.said(), refused());
    EXPECT_FALSE(quick.closed()) << "it has earned 100 s";
    EXPECT_FALSE(idle.closed() || waiting.closed());
}

TEST_F(FrontDoorLimits, WhoeverNobodyServesIsToldToComeBack) {
    AcceptorLimits limits = generous();
    limits.patience = 0s;
    open(limits);
    Client &waiting = client(), &reading = client(), &idle = client(), &asking = client();
    waiting.whole(), reading.reading(10);
    idle.write(fastcgi::record(fastcgi::kGetValues, 0, "x"));
    asking.reading(262'144);  // so much that a worker would be asked whose it is
    EXPECT_TRUE(eventually([&] { return waiting.closed() && asking.closed(); }));
    EXPECT_THAT(waiting.said(), HasSubstr("come back"));
    EXPECT_THAT(asking.said(), HasSubstr("come back"));
    EXPECT_EQ(sorries_, 2) << "each is told another time";
    EXPECT_FALSE(reading.closed() || idle.closed());
    EXPECT_FALSE(door_->busy());
}

TEST_F(FrontDoorLimits, RepliesToSilentReadersAreDropped) {
    AcceptorLimits limits = generous();
    limits.patience = limits.keep_idle = 0s;
    const std::string large(4 << 20, 'y');
    door_.emplace(listener_.get(), workers_, limits, [&] { return large; });
    Client& waiting = client();
    waiting.whole();
    EXPECT_TRUE(eventually([&] { return door_->busy(); })) << "it is to get the reply";
    EXPECT_TRUE(eventually([&] { return !door_->busy(); })) << "and takes nothing of it";
    EXPECT_LT(waiting.said().size(), large.size());
}

/// Its untimely byte and its reply, which the system has no room for at once, come in the same turn.
TEST_F(FrontDoorLimits, EarlyBytesLeaveTheReplyWhole) {
    constexpr std::size_t kLong = 8 << 20;
    WorkerPool workers(
        {1, 1}, [] { return ::pause(); }, outside_);
    door_.emplace(listener_.get(), workers, generous(), [] { return std::string(kLong, 'r'); });
    Client& early = client();
    early.whole();
    ASSERT_TRUE(eventually([&] {
        return std::ranges::any_of(workers.all(), [](const auto& worker) { return worker.second.serves >= 0; });
    }));
    door_->turn();  // nothing is left to be told of
    const auto end_workers = [&] {
        for (workers.signal_all(SIGKILL); workers.any_process(); std::this_thread::sleep_for(1ms)) workers.reap();
    };
    end_workers();
    early.write("x");
    EXPECT_TRUE(eventually([&] { return early.said().size() > kLong; })) << early.said().size();
    door_.reset();
    end_workers();
}

TEST_F(FrontDoorLimits, WhileTwoThousandWaitRelaysAreSentElsewhere) {
    open(generous());
    client().whole();
    let_in();
    const auto ask = [&] {
        Client& relay = client();
        relay.write(fastcgi::record(fastcgi::kGetValues, 0, fastcgi::pair(relay::kName, relay::kVersion)));
        let_in();
        EXPECT_TRUE(eventually([&] { return !relay.said().empty(); }));
        const std::string said = relay.said();
        clients_.pop_back();
        return said.substr(said.size() - 1);
    };
    // Those that have given up count until it is their turn.
    for (int i = 2; i <= 1999; ++i) {
        client().whole();
        let_in();
        clients_.pop_back();
    }
    EXPECT_EQ(ask(), relay::kVersion);
    client().whole();
    let_in();
    EXPECT_EQ(ask(), "0");
}

}  // namespace
}  // namespace sluice::test
