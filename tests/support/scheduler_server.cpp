// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/support/scheduler_server.h"

#include <fmt/core.h>
#include <grp.h>
#include <unistd.h>

#include <fstream>
#include <stdexcept>

#include "sluice/base/project.h"
#include "tests/support/free_port.h"
#include "tests/support/paths.h"

namespace sluice::test {

std::string name_of(Served how) {
    switch (how) {
        case Served::kCgi: return "Cgi";
        case Served::kFcgid: return "Fcgid";
        case Served::kListen: return "Listen";
        case Served::kRelay: return "Relay";
        case Served::kSpawnFcgi: return "SpawnFcgi";
    }
    return "";
}

SchedulerServer::SchedulerServer(TestProject& project, Served how, const std::string& more)
    : project_(project), how_(how), port_(free_port()) {
    project_.set_port(port_);
    ApacheOptions options;
    options.port = port_;
    options.env = project_.env();
    options.more = more;
    if (how == Served::kRelay) start_backend();
    if (how == Served::kCgi || how == Served::kFcgid || how == Served::kRelay) {
        options.mode = how == Served::kFcgid ? ApacheMode::kFcgid : ApacheMode::kCgid;
        options.include = project_.apache_fragment(how == Served::kFcgid);
    } else {
        options.mode = ApacheMode::kProxy;
        start_backend();
        options.include =
            project_.apache_proxy_fragment(how == Served::kListen ? "unix:" + socket().string() + "|fcgi://localhost"
                                                                  : fmt::format("fcgi://127.0.0.1:{}", backend_port_));
    }
    apache_ = std::make_unique<PrivateApache>(options);
}

SchedulerServer::~SchedulerServer() {
    apache_.reset();
    if (!backend_ || !backend_->running()) return;
    backend_->send_signal(SIGTERM);
    backend_->wait(60);
}

void SchedulerServer::start_backend() {
    const std::string cgi = sluice::test::binary_dir() + "/cgi-bin/cgi";
    if (how_ == Served::kRelay) {
        std::ofstream(project_.folder() / "relay_only") << "";
        backend_ = std::make_unique<Subprocess>(
            std::vector<std::string>{sluice::test::binary_dir() + "/bin/scheduler", "--processes", "4"},
            project_.run_options());
        if (!backend_->wait_for_output("listening on")) throw std::runtime_error("scheduler: " + backend_->err());
    } else if (how_ == Served::kListen) {
        // Apache connects as another user: the socket gets the group of its folder.
        std::filesystem::create_directories(socket().parent_path());
        share_with_web_server(socket().parent_path(), 02750);
        if (const group* web = ::geteuid() == 0 ? ::getgrnam("www-data") : nullptr)
            if (::chown(socket().parent_path().c_str(), static_cast<uid_t>(-1), web->gr_gid) != 0)
                throw std::runtime_error("can't give the socket's folder to www-data");
        backend_ = std::make_unique<Subprocess>(
            std::vector<std::string>{cgi, "--listen", socket().string(), "--processes", "4"}, project_.run_options());
        if (!backend_->wait_for_output("listening on")) throw std::runtime_error("cgi --listen: " + backend_->err());
    } else {
        backend_port_ = free_port();
        RunOptions options = project_.run_options();
        options.run_as = Role::kWeb;
        backend_ = std::make_unique<Subprocess>(std::vector<std::string>{"spawn-fcgi", "-n", "-a", "127.0.0.1", "-p",
                                                                         std::to_string(backend_port_), "--", cgi},
                                                options);
        if (!eventually([&] { return !backend_->running() || http_bytes(backend_port_, "", true, 0.1).status == 0; }) ||
            !backend_->running())
            throw std::runtime_error("spawn-fcgi: " + backend_->err());
    }
}

std::filesystem::path SchedulerServer::socket() const {
    if (how_ == Served::kRelay) return project_.folder() / ("pid_" + short_host_name()) / "scheduler.sock";
    return project_.folder() / "listen/cgi.sock";
}

std::string SchedulerServer::logs() const {
    return project_.scheduler_log() + apache_->error_log() + (backend_ ? backend_->out() + backend_->err() : "");
}

std::string malformed(const HttpReply& reply) {
    if (reply.status != 200) return fmt::format("HTTP status {}: {}", reply.status, reply.body.substr(0, 500));
    static const std::string begin = "<scheduler_reply>", end = "</scheduler_reply>";
    const std::string& text = reply.body;
    const auto at_end = text.find(end);
    if (text.rfind(begin, 0) != 0 || at_end == std::string::npos) return "not one element: " + text.substr(0, 500);
    if (text.find(begin, 1) != std::string::npos) return "two elements: " + text.substr(0, 500);
    const auto rest = text.substr(at_end + end.size());
    return rest.find_first_not_of(" \n") == std::string::npos ? "" : "something follows: " + rest.substr(0, 200);
}

std::string in_chunks(const std::string& path, const std::string& body) {
    std::string out = "POST " + path +
                      " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: text/xml\r\n"
                      "Transfer-Encoding: chunked\r\n\r\n";
    for (std::size_t at = 0; at < body.size(); at += 1000) {
        const std::string part = body.substr(at, 1000);
        out += fmt::format("{:x}\r\n{}\r\n", part.size(), part);
    }
    return out + "0\r\n\r\n";
}

}  // namespace sluice::test
