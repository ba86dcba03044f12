// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The web server's account: which it is, what it may do, and what that means for uploads.
#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/options/permissions.h"
#include "config/project_config.h"
#include "sluice/base/users.h"

namespace sluice {

// What another account of this machine may do: asked by itself, or by root in a child that becomes that account. Who is
// neither is told what owners and modes say.

struct MachineAccount {
    SystemUser user;
    std::vector<gid_t> groups;
};
/// nullopt: nobody is called so.
std::optional<MachineAccount> account_of(const std::string& name);
/// One without a name has its number for it, and no groups.
MachineAccount account_of(uid_t uid);

struct Ownership {
    uid_t owner = 0;
    gid_t group = 0;
    mode_t mode = 0;
};
/// Whether the mode grants `rights` (R_OK, W_OK, X_OK); the folders above count for nothing here.
bool mode_grants(const Ownership& what, const MachineAccount& account, int rights);

struct AccessCheck {
    std::filesystem::path path;
    int rights = 0;
};
/// For each wish 0, or the errno that the account would get.
std::vector<int> refusals_of(const MachineAccount& account, const std::vector<AccessCheck>& wishes);

/// The first folder from / to `folder`, itself included, that the account can't enter; where that is a link, the folder
/// behind it. Empty: it gets there.
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

/// The account of the web server, as far as config.xml and the machine tell.
struct WebAccount {
    std::optional<MachineAccount> account;  ///< nullopt: not known
    bool is_named = false;                  ///< by <httpd_user>, not guessed
};
WebAccount web_account(const ProjectConfig& config);

/// An error for each of download_dir and upload_dir that is not there, with the command that makes it.
std::vector<std::string> missing_folders(const ProjectConfig& config);

// Can the project's account read and delete what the web server's account writes into the upload folder? If not: the
// commands that repair it (docs/security.md, "Who owns uploads").

struct UploadFolder {
    std::filesystem::path path;
    bool project_may_delete = true;  ///< it reads the folder, and removes what another account put there
    bool web_may_write = true;
    bool everybody_writes = false;  ///< who gets there
};

struct UploadFacts {
    std::vector<UploadFolder> folders;  ///< the upload folder, then its hash folders
    /// The folder above the upload folder that this account can't enter; empty: none.
    std::filesystem::path shut_to_project, shut_to_web;
    bool open_to_all = false;                       ///< every account of the machine gets into the upload folder
    std::string project, web;                       ///< the accounts; `web` is empty if it is not known
    std::string group;                              ///< what the group of folders and files should be
    bool web_is_named = true;                       ///< by config.xml, not guessed
    std::vector<std::filesystem::path> unreadable;  ///< complete files that the project's account can't read
    bool completed_unreadable = false;              ///< <fuh_set_completed_permission> makes them so
};

/// An empty command: config.xml is to be changed.
std::vector<PermissionFinding> upload_findings(const UploadFacts& facts);

/// Changes nothing. nullopt: this account can't look into the folder, or there is none.
std::optional<UploadFacts> read_upload_facts(const std::filesystem::path& project, const ProjectConfig& config);

}  // namespace sluice
