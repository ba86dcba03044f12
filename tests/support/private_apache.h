// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// An Apache of a test's own on a free loopback port: own configuration, pid file and socket in a temporary folder,
// ended by pid. Where accounts are apart (tests/support/accounts.h) it is the web server's account from the beginning;
// started as root it serves as www-data, as Debian's does; else as the test's user.
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/group_guard.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {

/// How the scheduler is run.
enum class ApacheMode {
    kCgid,   ///< mod_cgid: a process a request
    kFcgid,  ///< mod_fcgid: FastCGI processes that Apache starts
    kProxy,  ///< mod_proxy_fcgi: to a FastCGI server that the test starts; `include` leads to it
};

struct ApacheOptions {
    ApacheMode mode = ApacheMode::kCgid;
    bool cgid_too = false;                   ///< mod_cgid beside mode's module, for what is not FastCGI
    std::filesystem::path include;           ///< the project's Apache fragment; "" = none
    std::string more;                        ///< further lines of configuration
    std::map<std::string, std::string> env;  ///< of Apache and so of the CGI programs (passed on by PassEnv)
    int port = 0;                            ///< 0: a free one
    bool prefork = false;                    ///< mpm_prefork, which mod_php needs
};

class PrivateApache {
  public:
    /// Throws with the error log if it does not start: no Apache is a failed test.
    explicit PrivateApache(ApacheOptions options);
    ~PrivateApache();
    PrivateApache(const PrivateApache&) = delete;
    PrivateApache& operator=(const PrivateApache&) = delete;

    void start();
    void stop();
    void restart_gracefully();  ///< apachectl graceful: new configuration, requests that are being served go on
    int port() const { return port_; }
    std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
    std::string error_log() const;

  private:
    void write_configuration() const;
    bool has_cgid() const { return options_.cgid_too || options_.mode == ApacheMode::kCgid; }
    bool cgid_answers() const;
    ApacheOptions options_;
    TempDir folder_;
    int port_ = 0;
    std::unique_ptr<Subprocess> server_;
    std::unique_ptr<GroupGuard> guard_;  ///< workers and CGI programs are in the server's process group
};

struct HttpReply {
    int status = 0;  ///< 0: the connection broke
    std::string body;
    std::string head{};  ///< status line and headers
};
/// One request on a connection of its own. An empty `body` is a GET. Never throws: a broken connection is status 0.
HttpReply http(int port, const std::string& path, const std::string& body = "", double timeout = 60);
/// The bytes of `request` as they are; then, with `close_after`, nothing more is sent (the connection is half closed).
HttpReply http_bytes(int port, const std::string& request, bool close_after = true, double timeout = 60);

}  // namespace sluice::test
