// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A project's scheduler behind a real Apache, in each of the ways that an admin can run it.
#include <memory>
#include <optional>
#include <string>

#include "tests/support/private_apache.h"
#include "tests/support/test_project.h"

namespace sluice::test {

enum class Served {
    kCgi,        ///< mod_cgid: a process a request
    kFcgid,      ///< mod_fcgid starts FastCGI processes
    kListen,     ///< mod_proxy_fcgi to `cgi --listen` at a Unix socket
    kRelay,      ///< mod_cgid; the relay hands every request to the resident `scheduler`, and may do nothing else
    kSpawnFcgi,  ///< mod_proxy_fcgi to a `cgi` that Debian's spawn-fcgi started at a TCP port
};
std::string name_of(Served how);

class SchedulerServer {
  public:
    /// `project`'s URL is set; nothing of it needs to be there yet. `more`: further lines of Apache's configuration.
    SchedulerServer(TestProject& project, Served how, const std::string& more = "");
    ~SchedulerServer();

    HttpReply post(const std::string& body, double timeout = 60) const {
        return http(port_, "/test_cgi/cgi", body, timeout);
    }
    int port() const { return port_; }
    PrivateApache& apache() { return *apache_; }
    /// The FastCGI server of its own (kListen, kRelay, kSpawnFcgi).
    Subprocess& backend() { return *backend_; }
    std::filesystem::path socket() const;
    /// log_HOST/scheduler.log, Apache's error log and what the FastCGI server printed.
    std::string logs() const;

  private:
    void start_backend();
    TestProject& project_;
    Served how_;
    int port_ = 0, backend_port_ = 0;
    std::unique_ptr<Subprocess> backend_;
    std::unique_ptr<PrivateApache> apache_;
};

/// "" or what is wrong with the frame of a reply: exactly one <scheduler_reply> element and nothing else.
std::string malformed(const HttpReply& reply);
/// A POST for http_bytes() whose body comes in chunks of 1000 bytes, so that nobody is told its length. The web server
/// may answer in chunks, too.
std::string in_chunks(const std::string& path, const std::string& body);

}  // namespace sluice::test
