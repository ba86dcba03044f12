// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// An nginx of a test's own on a free loopback port, and the fcgiwrap that runs its programs: own configuration, pid
// file and sockets in a temporary folder, ended by pid. Both are the web server's account where accounts are apart.
#include <filesystem>
#include <memory>
#include <string>

#include "tests/support/group_guard.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {

class PrivateNginx {
  public:
    /// `fragment`: what make_project wrote for nginx. It is used as it is, but for the place of fcgiwrap's socket.
    /// Throws with the error log if a server does not start: no nginx is a failed test. `port` 0: a free one.
    explicit PrivateNginx(const std::filesystem::path& fragment, int port = 0);
    ~PrivateNginx();
    PrivateNginx(const PrivateNginx&) = delete;

    int port() const { return port_; }
    std::string error_log() const;

  private:
    void write_configuration(const std::filesystem::path& fragment) const;
    void start_fcgiwrap();
    void start_nginx();
    TempDir folder_;
    int port_ = 0;
    std::unique_ptr<Subprocess> fcgiwrap_, server_;
    std::unique_ptr<GroupGuard> fcgiwrap_guard_, server_guard_;  ///< their workers are in their groups
};

}  // namespace sluice::test
