// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/options/web_files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "config/options/web_access.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/project.h"
#include "sluice/base/text.h"
#include "sluice/xml/strict.h"

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
    for (const fs::path& folder : facts.shut_to_clients)
        found.push_back({fmt::format("{} can't be entered by {}, the web server's account: clients can't fetch what is "
                                     "in it",
                                     folder.string(), facts.web),
                         "chmod a+x " + shell_quoted(folder.string()), true});
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
                        .shut_to_clients = {},
                        .closed = {}};
    if (!facts.shut.empty()) return facts;
    for (const fs::path& folder : {fs::path(config.download_dir), project / "html/user"})
        if (fs::path shut = first_shut(*web, folder); !shut.empty()) facts.shut_to_clients.push_back(std::move(shut));
    const std::vector<WebFile> files = files_of(project, config);
    std::vector<AccessCheck> wishes;
    for (const WebFile& file : files) wishes.push_back({file.path, file.written ? W_OK : R_OK});
    const std::vector<int> refused = refusals_of(*web, wishes);
    for (std::size_t i = 0; i < files.size(); ++i)
        if (refused[i] == EACCES) facts.closed.push_back(files[i]);
    return facts;
}

namespace {

constexpr std::size_t kMostBytes = std::size_t{4} << 20;

enum class Outer { kOneElement, kAnyNumber };

/// Schedulers copy some into their replies as they are. Output templates are read line by line, by nobody's XML parser.
Outer outer_elements_of(const fs::path& file, const std::string& text) {
    const std::string name = file.filename().string();
    const bool output_template =
        file.parent_path().filename() == "templates" && text.find("<result>") != std::string::npos;
    return name == "gui_urls.xml" || name == "project_files.xml" || output_template ? Outer::kAnyNumber
                                                                                    : Outer::kOneElement;
}

std::string content_of(const fs::path& file) {
    std::error_code ignored;
    if (!fs::is_regular_file(file, ignored)) return "";
    try {
        return read_file(file, kMostBytes).value_or("");
    } catch (const FileError&) {  // those who need it say so
        return "";
    }
}

void look_at(const fs::path& file, std::vector<std::string>& lines) {
    const std::string text = content_of(file);
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string::npos) return;
    const bool any_number = outer_elements_of(file, text) == Outer::kAnyNumber;
    const auto fault = strict_xml_fault(any_number && !text.starts_with("<?xml") ? "<x>" + text + "</x>" : text);
    if (fault)
        lines.push_back(fmt::format(
            "{}:{}: strict XML parsers refuse this file, so BOINC's web pages and Python tools can't read it: {}",
            in_one_line(file.string()), fault->line, fault->what));
}

std::vector<fs::path> files_below(const fs::path& folder, int depth) {
    std::vector<fs::path> files;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
        if (depth == 0) {
            files.push_back(entry.path());
        } else if (entry.is_directory(ignored)) {
            const auto more = files_below(entry.path(), depth - 1);
            files.insert(files.end(), more.begin(), more.end());
        }
    }
    std::ranges::sort(files);
    return files;
}

/// In folders that hold other files, too.
bool is_xml(const fs::path& file) {
    const std::string text = content_of(file);
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    return first != std::string::npos && text[first] == '<' && text.compare(first, 5, "<?php") != 0;
}

}  // namespace

std::vector<std::string> strict_xml_findings(const fs::path& file) {
    std::vector<std::string> lines;
    look_at(file, lines);
    return lines;
}

std::vector<std::string> strict_xml_findings_of_project(const fs::path& project) {
    constexpr int kAppVersionPlatform = 3;
    std::vector<std::string> lines;
    for (const fs::path& file : files_below(project, 0))
        if (file.extension() == ".xml") look_at(file, lines);
    for (const fs::path& file : files_below(project / "templates", 0))
        if (is_xml(file)) look_at(file, lines);
    for (const fs::path& file : files_below(project / "apps", kAppVersionPlatform))
        if (file.filename() == "version.xml") look_at(file, lines);
    for (const char* name : {"get_project_config.php", "lookup_account.php", "create_account.php"})
        if (const fs::path file = project / "html/user" / name; is_xml(file)) look_at(file, lines);
    return lines;
}

}  // namespace sluice
