// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/support/private_nginx.h"

#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/accounts.h"
#include "tests/support/free_port.h"
#include "tests/support/private_apache.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDebiansSocket = "unix:/run/fcgiwrap.socket";

std::string file_text(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

RunOptions as_web_server() {
    RunOptions options;
    options.run_as = Role::kWeb;
    options.own_group = true;
    return options;
}

void end_server(std::unique_ptr<Subprocess>& server) {
    if (!server || !server->running()) return;
    server->send_signal(SIGTERM);
    server->wait(60);
}

}  // namespace

PrivateNginx::PrivateNginx(const fs::path& fragment, int port) : port_(port != 0 ? port : free_port()) {
    fs::permissions(folder_.path(), fs::perms(0777));
    write_configuration(fragment);
    give(folder_.path(), Role::kWeb);
    start_fcgiwrap();
    start_nginx();
}

PrivateNginx::~PrivateNginx() {
    end_server(server_);
    end_server(fcgiwrap_);
}

void PrivateNginx::write_configuration(const fs::path& fragment) const {
    std::string text = file_text(fragment);
    const std::string own = "unix:" + (folder_ / "fcgiwrap.sock").string(), debians = kDebiansSocket;
    if (text.find(debians) == std::string::npos) throw std::runtime_error(fragment.string() + " does not use fcgiwrap");
    for (auto at = text.find(debians); at != std::string::npos; at = text.find(debians, at + own.size()))
        text.replace(at, debians.size(), own);
    folder_.write("fragment.conf", text);
    for (const char* file : {"fastcgi_params", "mime.types"})
        folder_.write(file, file_text(fs::path("/etc/nginx") / file));
    std::string places;
    for (const char* kind : {"client_body", "fastcgi", "proxy", "scgi", "uwsgi"})
        places += std::string("    ") + kind + "_temp_path \"" + (folder_ / kind).string() + "\";\n";
    folder_.write("nginx.conf", "daemon off;\npid \"" + (folder_ / "pid").string() + "\";\nerror_log \"" +
                                    (folder_ / "error.log").string() +
                                    "\";\nworker_processes 1;\nevents {\n    worker_connections 64;\n}\nhttp {\n"
                                    "    include mime.types;\n    access_log off;\n" +
                                    places + "    server {\n        listen 127.0.0.1:" + std::to_string(port_) +
                                    ";\n        server_name localhost;\n        include fragment.conf;\n    }\n}\n");
}

void PrivateNginx::start_fcgiwrap() {
    const fs::path socket = folder_ / "fcgiwrap.sock";
    fcgiwrap_ = std::make_unique<Subprocess>(
        std::vector<std::string>{"/usr/sbin/fcgiwrap", "-f", "-c", "4", "-s", "unix:" + socket.string()},
        as_web_server());
    fcgiwrap_guard_ = std::make_unique<GroupGuard>(fcgiwrap_->pid());
    const bool up = eventually([&] { return !fcgiwrap_->running() || fs::exists(socket); });
    if (!up || !fcgiwrap_->running()) throw std::runtime_error("fcgiwrap does not start: " + fcgiwrap_->err());
}

void PrivateNginx::start_nginx() {
    server_ = std::make_unique<Subprocess>(
        std::vector<std::string>{"/usr/sbin/nginx", "-p", folder_.path().string(), "-c",
                                 (folder_ / "nginx.conf").string(), "-e", (folder_ / "error.log").string()},
        as_web_server());
    server_guard_ = std::make_unique<GroupGuard>(server_->pid());
    const bool up = eventually([&] { return !server_->running() || http(port_, "/", "", 5).status != 0; });
    if (!up || !server_->running()) throw std::runtime_error("nginx does not start: " + server_->err() + error_log());
}

std::string PrivateNginx::error_log() const {
    const RightsToAllFiles rights;
    return file_text(folder_ / "error.log") + (fcgiwrap_ ? fcgiwrap_->err() : "");
}

}  // namespace sluice::test
