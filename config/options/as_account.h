// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What another account of this machine may do: asked by itself, or by root in a child that becomes that account. Who is
// neither is told what owners and modes say.
#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sluice/base/users.h"

namespace sluice {

struct MachineAccount {
    SystemUser user;
    std::vector<gid_t> groups;
};
/// nullopt: nobody is called so.
std::optional<MachineAccount> account_of(const std::string& name);
/// One without a name has its number for it, and no groups.
MachineAccount account_of(uid_t uid);

struct Owned {
    uid_t owner = 0;
    gid_t group = 0;
    mode_t mode = 0;
};
/// Whether the mode grants `rights` (R_OK, W_OK, X_OK); the folders above count for nothing here.
bool mode_grants(const Owned& what, const MachineAccount& account, int rights);

struct AccessWish {
    std::filesystem::path path;
    int rights = 0;
};
/// For each wish 0, or the errno that the account would get.
std::vector<int> refusals_of(const MachineAccount& account, const std::vector<AccessWish>& wishes);

/// The first folder from / to `folder`, itself included, that the account can't enter; empty: it gets there.
std::filesystem::path first_shut(const MachineAccount& account, const std::filesystem::path& folder);

/// Runs `action` as that account; its result, from 0 to 255. nullopt: this process may not.
std::optional<int> run_as(const MachineAccount& account, const std::function<int()>& action);

/// While it lives, root's process opens and connects as that account: a database server that knows accounts of the
/// system by their sockets sees it. Does nothing for others, or where root may not.
class ActingAs {
  public:
    explicit ActingAs(const MachineAccount& account);
    ActingAs(const ActingAs&) = delete;
    ActingAs& operator=(const ActingAs&) = delete;
    ~ActingAs();

  private:
    bool changed_ = false;
    gid_t group_ = 0;
    std::vector<gid_t> groups_;
};

}  // namespace sluice
