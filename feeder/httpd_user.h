// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <string>
#include <vector>

#include "config/project_config.h"

namespace sluice {

/// The accounts that the web server may run under: that of <httpd_user>, or, if this machine does not know it, the
/// usual ones.
std::vector<std::string> web_server_accounts(const ProjectConfig& config);

/// What is wrong if config.xml names an account that this machine does not have; else "". An account
/// that config.xml does not name is not looked for.
std::string unknown_httpd_user(const ProjectConfig& config);

}  // namespace sluice
