// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Can the web server's account reach what it needs beside uploads? It needs the project's folder, config.xml, the key
// that checks uploads, two logs, and what clients fetch. An editor that puts a new file in the place of config.xml,
// `sed -i` for one, takes the file's group away.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "config/options/permissions.h"
#include "config/project_config.h"

namespace sluice {

struct WebFile {
    std::filesystem::path path;
    std::string mode;  ///< as make_project makes it
    bool written = false;
    bool link = false;
};

struct WebFilesFacts {
    std::string project, web;    ///< the accounts
    std::string group;           ///< of the web server's account
    std::filesystem::path shut;  ///< the first folder on the way that the account can't enter; empty: none
    std::vector<std::filesystem::path> shut_to_clients;  ///< on the way to what they fetch
    std::vector<WebFile> closed;  ///< what it can't read, or write; not looked at where a folder is shut
};

std::vector<PermissionFinding> web_file_findings(const WebFilesFacts& facts);

/// Changes nothing. nullopt: <httpd_user> names no account of this machine. Where a guess would be wrong, all works.
std::optional<WebFilesFacts> read_web_files(const std::filesystem::path& project, const ProjectConfig& config);

// Files that our programs read, and that strict XML parsers refuse: BOINC's PHP pages and Python tools, and tools of
// configuration management.

/// A line if a strict parser refuses `file`; none if there is no such file, or it can't be read.
std::vector<std::string> strict_xml_findings(const std::filesystem::path& file);

/// The same for a project: what ends in .xml beside config.xml, templates of jobs, version.xml of app versions, and the
/// static answers in html/user.
std::vector<std::string> strict_xml_findings_of_project(const std::filesystem::path& project);

}  // namespace sluice
