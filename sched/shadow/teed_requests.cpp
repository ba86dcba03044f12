// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/shadow/teed_requests.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "sched/tee/place.h"
#include "sluice/base/error.h"

namespace sluice {
namespace {

constexpr std::chrono::seconds kForGreeting{5};
constexpr std::chrono::milliseconds kAway{2};
constexpr std::size_t kLongestReply = std::size_t{16} << 20;

double unix_now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

/// A whole file in memory, from its beginning, wherever others read. "": it is no file, empty or too large.
std::string text_of(int fd, std::size_t most) {
    struct stat info {};
    if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return "";
    if (info.st_size <= 0 || static_cast<std::size_t>(info.st_size) > most) return "";
    std::string text(static_cast<std::size_t>(info.st_size), '\0');
    std::size_t have = 0;
    while (have < text.size()) {
        const ssize_t n = ::pread(fd, text.data() + have, text.size() - have, static_cast<off_t>(have));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        have += static_cast<std::size_t>(n);
    }
    text.resize(have);
    return text;
}

/// By way of the open folder: paths of sockets are short, those of projects need not be.
sockaddr_un address_in(const OwnedFd& folder) {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    const std::string path = fmt::format("/proc/self/fd/{}/{}", folder.get(), tee::kSocket);
    std::memcpy(at.sun_path, path.c_str(), path.size() + 1);
    return at;
}

OwnedFd new_socket() { return OwnedFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)); }

/// The files that came with a greeting; they are closed if there are more, or others.
std::vector<OwnedFd> files_of(msghdr& message) {
    std::vector<OwnedFd> files;
    for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
        for (std::size_t at = 0; CMSG_LEN(at + sizeof(int)) <= c->cmsg_len; at += sizeof(int)) {
            int fd = -1;
            std::memcpy(&fd, CMSG_DATA(c) + at, sizeof fd);
            files.emplace_back(fd);
        }
    }
    return files;
}

}  // namespace

std::string TeedRequest::reply_text() const { return text_of(reply.get(), kLongestReply); }

TeedRequests::TeedRequests(const std::filesystem::path& project) : file_(project / "cgi-bin" / tee::kSocket) {
    const fs::path cgi_bin = project / "cgi-bin";
    const OwnedFd folder(::open(cgi_bin.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (folder.get() < 0) throw FileError("Can't open " + cgi_bin.string() + ": " + file_problem(errno, cgi_bin));
    const sockaddr_un at = address_in(folder);
    const OwnedFd asking = new_socket();
    if (::connect(asking.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0 || errno == EAGAIN)
        throw Error("another sluice shadow --tee looks at this project: end it first");
    ::unlink(file_.c_str());  // of one that was killed
    socket_ = new_socket();
    if (::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0)
        throw FileError("Can't make " + file_.string() + ": " + file_problem(errno, file_));
    // The web server's account need not share a group with this one. Who connects can change the report, nothing else.
    if (::chmod(file_.c_str(), 0666) != 0 || ::listen(socket_.get(), tee::kBacklog) != 0)
        throw FileError("Can't listen on " + file_.string() + ": " + file_problem(errno, file_));
}

TeedRequests::~TeedRequests() { close(); }

void TeedRequests::close() {
    if (socket_.get() < 0) return;
    ::unlink(file_.c_str());
    socket_ = OwnedFd();
}

void TeedRequests::take_in() {
    while (open() < kMost) {
        OwnedFd link(::accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (link.get() < 0) return;
        TeedRequest& request = being_answered_.emplace_back();
        request.link = std::move(link);
        request.began = LiveClock::now();
    }
}

/// What was never shown has nothing to end.
bool TeedRequests::end(TeedRequest& request, bool given_up) {
    if (!was_away_)
        request.their_ms = std::chrono::duration<double, std::milli>(LiveClock::now() - request.shown_at).count();
    request.given_up = given_up;
    if (request.shown) ended_.push_back(std::move(request));
    return false;
}

bool TeedRequests::look_at(TeedRequest& request, std::vector<TeedRequest*>& fresh) {
    tee::Hello hello;
    iovec text{&hello, sizeof hello};
    alignas(cmsghdr) char space[CMSG_SPACE(2 * sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &text;
    message.msg_iovlen = 1;
    message.msg_control = space;
    message.msg_controllen = sizeof space;
    const ssize_t n = ::recvmsg(request.link.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    std::vector<OwnedFd> files = files_of(message);
    if (n == 0) return end(request, false);
    const bool understood = n == sizeof hello && hello.version == tee::kVersion && files.size() == 2 && !request.shown;
    if (understood) request.request = text_of(files[0].get(), tee::kMostBytes);
    // What broke off is no request of a client.
    if (!understood || request.request.empty() || request.request.size() != hello.request_bytes) {
        ++refused_;
        return end(request, true);
    }
    request.reply = std::move(files[1]);
    request.shown = true;
    request.shown_at = std::min(LiveClock::time_point(std::chrono::nanoseconds(hello.shown_at)), LiveClock::now());
    request.at = unix_now();
    request.number = ++numbers_;
    fresh.push_back(&request);
    return true;
}

std::vector<TeedRequest*> TeedRequests::wait(std::chrono::milliseconds most, int also) {
    const bool full = open() >= kMost;
    std::vector<pollfd> files{{also, POLLIN, 0}, {full ? -1 : socket_.get(), POLLIN, 0}};
    for (const TeedRequest& request : being_answered_) files.push_back({request.link.get(), POLLIN, 0});
    const auto began = LiveClock::now();
    was_away_ = began - looked_ > kAway;
    ::poll(files.data(), files.size(), static_cast<int>(most.count()));
    looked_ = LiveClock::now();
    if (full) full_for_ += std::chrono::duration<double>(looked_ - began).count();
    std::vector<TeedRequest*> fresh;
    std::size_t i = 2;
    for (auto request = being_answered_.begin(); request != being_answered_.end(); ++i) {
        bool kept = files[i].revents == 0 || look_at(*request, fresh);
        const bool is_new = !fresh.empty() && fresh.back() == &*request;
        if (kept && !is_new && LiveClock::now() - request->began > (request->shown ? kLongest : kForGreeting)) {
            ++given_up_;
            kept = end(*request, true);
        }
        request = kept ? std::next(request) : being_answered_.erase(request);
    }
    if (files[1].revents != 0) take_in();
    return fresh;
}

bool TeedRequests::take_ended(TeedRequest& to) {
    if (ended_.empty()) return false;
    to = std::move(ended_.front());
    ended_.pop_front();
    return true;
}

}  // namespace sluice
