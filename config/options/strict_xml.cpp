// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/options/strict_xml.h"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/in_one_line.h"
#include "sluice/xml/strict.h"

namespace sluice {
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
