// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/options/web_account.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "sluice/base/shell_text.h"

namespace sluice {

WebAccount web_account(const ProjectConfig& config) {
    WebAccount web{account_of(config.httpd_user), false};
    web.is_named = web.account.has_value();
    for (const std::string& name : usual_web_users())
        if (!web.account) web.account = account_of(name);
    return web;
}

std::vector<std::string> missing_folders(const ProjectConfig& config) {
    struct stat project {};
    if (::stat(config.project_dir.c_str(), &project) != 0) return {};
    const std::string owner = user_name(project.st_uid), group = first_group(owner, project.st_gid);
    const auto web = web_account(config).account;
    std::vector<std::string> missing;
    const auto need = [&](const char* option, const std::string& folder, const std::string& of, const char* mode) {
        std::error_code ignored;
        if (std::filesystem::is_directory(folder, ignored)) return;
        missing.push_back(fmt::format(
            "<{}>: {} is not a folder: set the option, or make the folder; as root: install -d -o {} -g {} -m {} {}",
            option, folder, owner, of, mode, shell_quoted(folder)));
    };
    need("download_dir", config.download_dir, group, "755");
    need("upload_dir", config.upload_dir, web ? group_name(web->user.gid) : group, "2770");
    return missing;
}

}  // namespace sluice
