// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/cgi/resident.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "sched/cgi/relay_protocol.h"

namespace sluice::relay {
namespace {

/// A resident program answers the first question at once; who does not is stopped or overwhelmed.
constexpr timeval kForAnAnswer{2, 0};

void wait_at_most(int fd, const timeval& time) {
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
    ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
}

bool entitled(int fd, const std::string& project) {
    ucred peer{};
    socklen_t size = sizeof peer;
    struct stat folder {};
    if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || ::stat(project.c_str(), &folder) != 0)
        return false;
    return peer.uid == folder.st_uid || peer.uid == ::geteuid() || peer.uid == 0;
}

std::string short_host_name() {
    char name[256] = "";
    ::gethostname(name, sizeof name - 1);
    return {name, std::strcspn(name, ".")};
}

}  // namespace

struct Resident::Sink final : fastcgi::RecordSink {
    explicit Sink(Resident& r) : resident(r) {}
    bool on_content(fastcgi::RecordType type, std::uint16_t, std::string_view piece) override {
        if (type == fastcgi::kGetValuesResult) resident.values_ += piece;
        return resident.values_.size() < 1024;
    }
    Resident& resident;
};

Resident::~Resident() {
    if (fd_ >= 0) ::close(fd_);
}

int Resident::connect(const std::string& project) {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    // By way of the open folder: paths of sockets are short, those of projects need not be.
    const int folder =
        ::open((project + "/" + kSocketFolder + short_host_name()).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return errno;
    const std::string path = "/proc/self/fd/" + std::to_string(folder) + "/" + kSocket;
    std::memcpy(at.sun_path, path.c_str(), path.size() + 1);
    // Not blocking: who can't even take the connection has no room for the request.
    fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const bool connected = fd_ >= 0 && ::connect(fd_, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
    const int error = connected ? 0 : errno;
    ::close(folder);
    if (error != 0) return error;
    return entitled(fd_, project) ? ask() : EPERM;
}

int Resident::ask() {
    const int flags = ::fcntl(fd_, F_GETFL);
    ::fcntl(fd_, F_SETFL, flags & ~O_NONBLOCK);
    wait_at_most(fd_, kForAnAnswer);
    if (!send_all(fastcgi::record(fastcgi::kGetValues, 0, fastcgi::pair(kName, kVersion)))) return ECONNRESET;
    const std::string wanted = fastcgi::pair(kName, kVersion);
    while (values_.size() < wanted.size())
        if (!read_some()) return errno == EAGAIN ? ETIMEDOUT : ECONNRESET;
    return values_ == wanted ? 0 : EPROTO;
}

bool Resident::send_all(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
}

bool Resident::read_some() {
    char bytes[32 * 1024];
    ssize_t n = -1;
    do n = ::recv(fd_, bytes, sizeof bytes, 0);
    while (n < 0 && errno == EINTR);
    Sink sink(*this);
    if (n == 0) errno = 0;  // ended
    return n > 0 && reader_.feed({bytes, static_cast<std::size_t>(n)}, sink);
}

}  // namespace sluice::relay
