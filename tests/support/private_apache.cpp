// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/support/private_apache.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <fstream>
#include <stdexcept>

#include "tests/support/free_port.h"

namespace sluice::test {
namespace {

class Socket {
  public:
    Socket() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
    ~Socket() { ::close(fd_); }
    Socket(const Socket&) = delete;
    bool connect(int port) const {
        const sockaddr_in address = loopback(port);
        return ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    }
    int fd() const { return fd_; }

  private:
    static sockaddr_in loopback(int port) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<std::uint16_t>(port));
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        return address;
    }
    int fd_;
};

std::string modules_for(ApacheMode mode, const std::string& mpm, bool cgid, const std::filesystem::path& folder) {
    const auto load = [](const std::string& name) {
        return "LoadModule " + name + "_module /usr/lib/apache2/modules/mod_" + name + ".so\n";
    };
    std::string text = load(mpm) + load("authz_core") + load("alias") + load("dir") + load("mime") + load("env");
    if (cgid) text += load("cgid") + "ScriptSock \"" + (folder / "cgid.sock").string() + "\"\n";
    switch (mode) {
        case ApacheMode::kCgid: return text;
        case ApacheMode::kFcgid:
            return text + load("fcgid") + "FcgidIPCDir \"" + (folder / "fcgid").string() +
                   "\"\nFcgidProcessTableFile \"" + (folder / "fcgid_shm").string() +
                   "\"\nFcgidMaxRequestLen 67108864\nFcgidMaxProcesses 8\n";
        case ApacheMode::kProxy: return text + load("proxy") + load("proxy_fcgi");
    }
    return text;
}

}  // namespace

PrivateApache::PrivateApache(ApacheOptions options) : options_(std::move(options)) {
    std::filesystem::permissions(folder_.path(), std::filesystem::perms(0777));
    std::filesystem::create_directories(folder_ / "fcgid");
    std::filesystem::permissions(folder_ / "fcgid", std::filesystem::perms(0777));
    port_ = options_.port != 0 ? options_.port : free_port();
    write_configuration();
    give(folder_.path(), Role::kWeb);
    start();
}

PrivateApache::~PrivateApache() { stop(); }

void PrivateApache::write_configuration() const {
    std::ofstream out(folder_ / "httpd.conf");
    out << "ServerRoot \"" << folder_.path().string() << "\"\nServerName 127.0.0.1\nListen 127.0.0.1:" << port_
        << "\nPidFile \"" << (folder_ / "pid").string() << "\"\n"
        << modules_for(options_.mode, options_.prefork ? "mpm_prefork" : "mpm_event", has_cgid(), folder_.path())
        << "TypesConfig /etc/mime.types\nErrorLog \"" << (folder_ / "error.log").string()
        << "\"\nDirectoryIndex index.html\n"
        << "<Directory />\n    Require all denied\n</Directory>\n";
    if (::geteuid() == 0) out << "User www-data\nGroup www-data\n";
    for (const auto& [name, value] : options_.env) {
        out << "PassEnv " << name << "\n";
        if (options_.mode == ApacheMode::kFcgid) out << "FcgidInitialEnv " << name << " \"" << value << "\"\n";
    }
    out << options_.more << "\n";
    if (!options_.include.empty()) out << "Include \"" << options_.include.string() << "\"\n";
}

void PrivateApache::start() {
    RunOptions run_options;
    run_options.env = options_.env;
    run_options.run_as = Role::kWeb;
    run_options.own_group = true;
    server_ =
        std::make_unique<Subprocess>(std::vector<std::string>{"/usr/sbin/apache2", "-d", folder_.path().string(), "-f",
                                                              (folder_ / "httpd.conf").string(), "-DFOREGROUND"},
                                     run_options);
    guard_ = std::make_unique<GroupGuard>(server_->pid());
    const bool up =
        eventually([&] { return !server_->running() || (Socket().connect(port_) && (!has_cgid() || cgid_answers())); });
    if (!up || !server_->running()) throw std::runtime_error("Apache does not start: " + server_->err() + error_log());
}

// Apache answers before mod_cgid's own process has made its socket and, as root, given it to the web server's user:
// in between mod_cgid does not try again but answers 503 ("Permission denied"). The name ends with Apache's pid.
bool PrivateApache::cgid_answers() const {
    struct ::stat of {};
    const std::string name = (folder_ / "cgid.sock.").string() + std::to_string(server_->pid());
    return ::stat(name.c_str(), &of) == 0 && (::geteuid() != 0 || of.st_uid != 0);
}

void PrivateApache::stop() {
    if (!server_) return;
    if (server_->running()) {
        server_->send_signal(SIGTERM);
        server_->wait(60);
    }
    guard_.reset();
    server_.reset();
}

void PrivateApache::restart_gracefully() { server_->send_signal(SIGUSR1); }

std::string PrivateApache::error_log() const {
    const RightsToAllFiles rights;
    std::ifstream in(folder_ / "error.log");
    return {std::istreambuf_iterator<char>(in), {}};
}

HttpReply http_bytes(int port, const std::string& request, bool close_after, double timeout) {
    HttpReply reply;
    const Socket socket;
    timeval limit{static_cast<time_t>(timeout), 0};
    ::setsockopt(socket.fd(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(socket.fd(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (!socket.connect(port)) return reply;
    for (std::size_t sent = 0; sent < request.size();) {
        const ssize_t n = ::send(socket.fd(), request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
        if (n <= 0) break;  // the server may answer before it has read all
        sent += static_cast<std::size_t>(n);
    }
    if (close_after) ::shutdown(socket.fd(), SHUT_WR);
    std::string text;
    char block[65536];
    for (ssize_t n = 0; (n = ::recv(socket.fd(), block, sizeof block, 0)) > 0;)
        text.append(block, static_cast<std::size_t>(n));
    const auto end_of_head = text.find("\r\n\r\n");
    if (end_of_head == std::string::npos || text.rfind("HTTP/", 0) != 0) return reply;
    reply.status = std::atoi(text.c_str() + text.find(' '));
    reply.head = text.substr(0, end_of_head + 2);
    reply.body = text.substr(end_of_head + 4);
    return reply;
}

HttpReply http(int port, const std::string& path, const std::string& body, double timeout) {
    std::string request = (body.empty() ? "GET " : "POST ") + path + " HTTP/1.0\r\nHost: 127.0.0.1\r\n";
    if (!body.empty())
        request += "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: " + std::to_string(body.size()) +
                   "\r\n";
    return http_bytes(port, request + "\r\n" + body, false, timeout);
}

}  // namespace sluice::test
