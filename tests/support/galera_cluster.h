// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Three nodes of MariaDB Galera, each a PrivateMariaDb: on loopback, as the test's own account, ended with it. Nobody
// copies whole databases between them (for which Galera's scripts need rsync or mariabackup): all begin with a copy of
// one data folder, and a node that comes back gets what it missed as write sets (IST). A node that would need more than
// that does not start, and the test fails.
#include <array>
#include <memory>
#include <string>

#include "tests/support/private_mariadb.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {

class GaleraCluster {
  public:
    static constexpr int kNodes = 3;
    /// All nodes are Synced when it returns (some six seconds). Throws if that fails. `more`: arguments of mariadbd.
    explicit GaleraCluster(const std::vector<std::string>& more = {});

    PrivateMariaDb& node(int i) { return *nodes_.at(static_cast<std::size_t>(i)); }
    void kill(int i) { node(i).kill(); }  ///< SIGKILL; the others find out in about six seconds
    /// After kill(): returns when the node is Synced again.
    void restart(int i);
    /// SHOW STATUS of a node; "" if it can't be asked.
    std::string status(int i, const std::string& variable);
    bool synced(int i) { return status(i, "wsrep_local_state_comment") == "Synced"; }
    /// The <db_host> of a program on machine `i`: its own node, then the others.
    std::string hosts(int i) const;
    std::string address(int i) const;  ///< of one node, as <db_host> takes it

  private:
    std::vector<std::string> arguments(int i) const;
    MariaDbOptions options(int i) const;
    void await_synced(int i);
    TempDir folder_;
    std::vector<std::string> more_;
    std::array<int, kNodes> sql_{}, group_{}, transfer_{};  ///< ports
    std::unique_ptr<PrivateMariaDb> seed_;
    std::array<std::unique_ptr<PrivateMariaDb>, kNodes> nodes_;
};

}  // namespace sluice::test
