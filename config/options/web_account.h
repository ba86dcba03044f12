// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The accounts of a project, as far as config.xml and the machine tell.
#include <optional>
#include <string>

#include "config/options/as_account.h"
#include "config/project_config.h"

namespace sluice {

struct WebAccount {
    std::optional<MachineAccount> account;  ///< nullopt: not known
    bool is_named = false;                  ///< by <httpd_user>, not guessed
};
WebAccount web_account(const ProjectConfig& config);

/// An error for each of download_dir and upload_dir that is not there, with the command that makes it.
std::vector<std::string> missing_folders(const ProjectConfig& config);

}  // namespace sluice
