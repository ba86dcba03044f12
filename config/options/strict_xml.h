// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Files that our programs read, and that strict XML parsers refuse: BOINC's PHP pages and Python tools, and tools of
// configuration management.
#include <filesystem>
#include <string>
#include <vector>

namespace sluice {

/// A line if a strict parser refuses `file`; none if there is no such file, or it can't be read.
std::vector<std::string> strict_xml_findings(const std::filesystem::path& file);

/// The same for a project: what ends in .xml beside config.xml, templates of jobs, version.xml of app versions, and the
/// static answers in html/user.
std::vector<std::string> strict_xml_findings_of_project(const std::filesystem::path& project);

}  // namespace sluice
