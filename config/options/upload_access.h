// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Whether the project's account can read and delete what the web server's account writes into the upload folder, and
// the commands that mend it: docs/security.md, "Who owns uploads".
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/options/permissions.h"
#include "config/project_config.h"

namespace sluice {

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
