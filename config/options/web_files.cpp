// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/options/web_files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "config/options/as_account.h"
#include "sluice/base/log_folder.h"
#include "sluice/base/project.h"
#include "sluice/base/shell_text.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

/// Those that are there: what is missing is another matter.
std::vector<WebFile> files_of(const fs::path& project, const ProjectConfig& config) {
    std::vector<WebFile> files;
    std::error_code ignored;
    // The web server's account needs none of these where all is left to the resident scheduler; see docs/install.md.
    if (!fs::exists(project / "relay_only", ignored)) {
        files.push_back({project / "config.xml", "640"});
        files.push_back({project / "config_aux.xml", "640"});
        if (!config.ignore_upload_certificates) files.push_back({project / "keys/upload_public", "644"});
    }
    const fs::path logs = project / ("log_" + short_host_name());
    for (const char* name : kWebLogs) files.push_back({logs / name, "660", true});
    std::erase_if(files, [&](const WebFile& file) { return !fs::exists(file.path, ignored); });
    for (WebFile& file : files) file.link = fs::is_symlink(file.path, ignored);
    return files;
}

}  // namespace

std::vector<PermissionFinding> web_file_findings(const WebFilesFacts& facts) {
    if (!facts.shut.empty())
        return {{fmt::format("{} can't be entered by {}, the web server's account: requests and uploads fail",
                             facts.shut.string(), facts.web),
                 "chmod a+x " + shell_quoted(facts.shut.string()), true}};
    std::vector<PermissionFinding> found;
    for (const WebFile& file : facts.closed) {
        const std::string word = shell_quoted(file.path.string());
        // Who wrote a link must not have root give away what it leads to.
        found.push_back({fmt::format("{}{} can't be {} by {}, the web server's account{}", file.path.string(),
                                     file.link ? ", a symbolic link: put a file in its place, it" : "",
                                     file.written ? "written" : "read", facts.web,
                                     file.written ? ": what it has to say is lost" : ": requests and uploads fail"),
                         !file.link     ? ownership_command(facts.project, facts.group, file.mode, word)
                         : file.written ? "rm " + word
                                        : "ls -l " + word,
                         !file.written});
    }
    return found;
}

std::optional<WebFilesFacts> read_web_files(const fs::path& project, const ProjectConfig& config) {
    const auto web = account_of(config.httpd_user);
    struct stat owner {};
    if (!web || ::stat(project.c_str(), &owner) != 0) return std::nullopt;
    WebFilesFacts facts{.project = user_name(owner.st_uid),
                        .web = web->user.name,
                        .group = group_name(web->user.gid),
                        .shut = first_shut(*web, project),
                        .closed = {}};
    if (!facts.shut.empty()) return facts;
    const std::vector<WebFile> files = files_of(project, config);
    std::vector<AccessWish> wishes;
    for (const WebFile& file : files) wishes.push_back({file.path, file.written ? W_OK : R_OK});
    const std::vector<int> refused = refusals_of(*web, wishes);
    for (std::size_t i = 0; i < files.size(); ++i)
        if (refused[i] == EACCES) facts.closed.push_back(files[i]);
    return facts;
}

}  // namespace sluice
