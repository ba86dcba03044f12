// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The web server's side of FastCGI, as much as a test needs: one request a connection, over a unix socket.
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>

namespace sluice::test {

/// Requests to a server that listens somewhere.
class FastcgiClient {
  public:
    explicit FastcgiClient(const std::string& path) {
        std::strncpy(address_.sun_path, path.c_str(), sizeof address_.sun_path - 1);
        address_.sun_family = AF_UNIX;
    }

    /// What the program printed on stdout for this request.
    std::string request(const std::map<std::string, std::string>& params, const std::string& body) const {
        const int fd = send_request(params, body, false);
        std::string in;
        char buffer[65536];
        for (ssize_t n; (n = ::read(fd, buffer, sizeof buffer)) > 0;) in.append(buffer, static_cast<std::size_t>(n));
        ::close(fd);
        return stdout_of(in);
    }
    /// A connection that is to be kept for the next request, after this one's reply has come. The caller closes it.
    int kept_connection(const std::map<std::string, std::string>& params, const std::string& body) const {
        const int fd = send_request(params, body, true);
        reply_on(fd);
        return fd;
    }
    /// A request on a connection that is to be kept, of whose body there is more to come: records of send_body(), an
    /// empty one last. The caller closes it.
    int begin_request(const std::map<std::string, std::string>& params, const std::string& beginning) const {
        return send_request(params, beginning, true, false);
    }
    static void send_body(int fd, const std::string& bytes) { send_all(fd, record(5, bytes)); }
    static std::string reply_on(int fd) {
        std::string in;
        char buffer[65536];
        for (ssize_t n; !ended(in) && (n = ::read(fd, buffer, sizeof buffer)) > 0;)
            in.append(buffer, static_cast<std::size_t>(n));
        return stdout_of(in);
    }
    /// The program has read all that was sent to it.
    static bool all_read(int fd) {
        int unread = 0;
        return ::ioctl(fd, SIOCOUTQ, &unread) == 0 && unread == 0;
    }

  protected:
    const sockaddr* address() const { return reinterpret_cast<const sockaddr*>(&address_); }

  private:
    int send_request(const std::map<std::string, std::string>& params, const std::string& body, bool keep,
                     bool whole = true) const {
        const std::string begin{0, 1, static_cast<char>(keep ? 1 : 0), 0, 0, 0, 0, 0};  // role responder
        std::string out = record(1, begin);
        std::string pairs;
        for (const auto& [name, value] : params) pairs += length(name.size()) + length(value.size()) + name + value;
        out += record(4, pairs) + record(4, "");
        for (std::size_t at = 0; at < body.size(); at += 60000) out += record(5, body.substr(at, 60000));
        if (whole) out += record(5, "");
        // Not before all is at hand: libfcgi closes a connection on which nothing comes for two seconds.
        const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (::connect(fd, address(), sizeof address_) != 0) {
            ::close(fd);
            throw std::runtime_error("can't connect");
        }
        send_all(fd, out);
        return fd;
    }
    static void send_all(int fd, const std::string& out) {
        for (std::size_t at = 0; at < out.size();) {
            const ssize_t n = ::send(fd, out.data() + at, out.size() - at, MSG_NOSIGNAL);
            if (n <= 0) break;
            at += static_cast<std::size_t>(n);
        }
    }
    /// The record that ends a request has come.
    static bool ended(const std::string& in) {
        const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(in[i]); };
        for (std::size_t at = 0; at + 8 <= in.size(); at += 8 + byte(at + 4) * 256u + byte(at + 5) + byte(at + 6))
            if (byte(at + 1) == 3) return true;
        return false;
    }
    static std::string length(std::size_t n) {
        if (n < 128) return std::string(1, static_cast<char>(n));
        return {static_cast<char>(0x80 | (n >> 24)), static_cast<char>(n >> 16), static_cast<char>(n >> 8),
                static_cast<char>(n)};
    }
    static std::string record(int type, const std::string& content) {
        std::string header{1,
                           static_cast<char>(type),
                           0,
                           1,
                           static_cast<char>(content.size() >> 8),
                           static_cast<char>(content.size()),
                           0,
                           0};
        return header + content;
    }
    static std::string stdout_of(const std::string& in) {
        std::string out;
        const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(in[i]); };
        for (std::size_t at = 0; at + 8 <= in.size();) {
            const std::size_t size = byte(at + 4) * 256u + byte(at + 5);
            if (byte(at + 1) == 6) out += in.substr(at + 8, size);
            at += 8 + size + byte(at + 6);
        }
        return out;
    }

    sockaddr_un address_{};
};

/// The listening socket too, for a program that gets it as its standard input.
class FastcgiSocket : public FastcgiClient {
  public:
    explicit FastcgiSocket(const std::string& path)
        : FastcgiClient(path), fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        if (::bind(fd_, address(), sizeof(sockaddr_un)) != 0 || ::listen(fd_, 8) != 0)
            throw std::runtime_error("can't listen on " + path);
    }
    FastcgiSocket(const FastcgiSocket&) = delete;
    FastcgiSocket& operator=(const FastcgiSocket&) = delete;
    ~FastcgiSocket() { ::close(fd_); }
    int fd() const { return fd_; }

  private:
    int fd_ = -1;
};

}  // namespace sluice::test
