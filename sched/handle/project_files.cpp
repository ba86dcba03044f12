// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/handle/project_files.h"

#include <regex.h>

#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/text.h"

namespace sluice {

struct RegexList::Compiled {
    regex_t regex{};
    bool ok = false;
    ~Compiled() {
        if (ok) regfree(&regex);
    }
};

RegexList::RegexList(const std::vector<std::string>& patterns) {
    for (const std::string& pattern : patterns) {
        auto compiled = std::make_unique<Compiled>();
        if (const int error = regcomp(&compiled->regex, pattern.c_str(), REG_EXTENDED | REG_NOSUB); error != 0) {
            char text[200];
            regerror(error, &compiled->regex, text, sizeof text);
            problems_.push_back("regular expression '" + pattern + "': " + text);
            continue;
        }
        compiled->ok = true;
        compiled_.push_back(std::move(compiled));
    }
}
RegexList::RegexList(RegexList&&) noexcept = default;
RegexList& RegexList::operator=(RegexList&&) noexcept = default;
RegexList::~RegexList() = default;

bool RegexList::matches(const std::string& text) const {
    for (const auto& compiled : compiled_)
        if (regexec(&compiled->regex, text.c_str(), 0, nullptr, 0) == 0) return true;
    return false;
}

namespace {

namespace fs = std::filesystem;

std::string optional_file(const fs::path& path, std::vector<std::string>& problems) {
    try {
        return read_file(path, 4u << 20).value_or("");
    } catch (const FileError& e) {
        problems.push_back(e.what());
        return "";
    }
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    for (const std::string_view line : split(text, '\n'))
        if (const std::string_view t = trim(line); !t.empty()) lines.emplace_back(t);
    return lines;
}

/// Lines "offset url"; others are named as problems.
std::vector<std::pair<int, std::string>> parse_download_servers(const std::string& text,
                                                                std::vector<std::string>& problems) {
    std::vector<std::pair<int, std::string>> servers;
    for (const std::string& line : lines_of(text)) {
        const std::size_t blank = line.find_first_of(" \t");
        const auto offset = parse_int(std::string_view(line).substr(0, blank));
        if (blank == std::string::npos || !offset) {
            problems.push_back("download_servers: '" + line + "' is not an offset in seconds and a URL");
            continue;
        }
        servers.emplace_back(clamp_to_int32(*offset), std::string(trim(std::string_view(line).substr(blank))));
    }
    return servers;
}

/// old_key_N with its signatures; the first gap ends the list.
std::vector<OldKey> read_old_keys(const fs::path& key_dir) {
    std::vector<OldKey> keys;
    for (int n = 0; n < 1000; ++n) {
        const std::string number = std::to_string(n);
        const auto key = read_file(key_dir / ("old_key_" + number));
        if (!key) break;
        keys.push_back({std::string(trim(*key)), read_file(key_dir / ("signature_" + number)).value_or(""),
                        read_file(key_dir / ("signature_stripped_" + number)).value_or("")});
    }
    return keys;
}

}  // namespace

ProjectFiles load_project_files(const ProjectConfig& config) {
    const fs::path project = config.project_dir, key = fs::path(config.key_dir) / "code_sign_public";
    ProjectFiles files;
    const auto key_text = read_file(key);
    if (!key_text || trim(*key_text).empty())
        throw ConfigError("can't read " + key.string() +
                          ": make the project's keys, or set <key_dir> in config.xml to the folder that holds them");
    files.code_sign_key = trim(*key_text);
    files.old_keys = read_old_keys(config.key_dir);
    auto& problems = files.problems;
    files.gui_urls = optional_file(project / "gui_urls.xml", problems);
    files.project_files = optional_file(project / "project_files.xml", problems);
    files.ban_os = RegexList(config.ban_os);
    files.ban_cpu = RegexList(config.ban_cpu);
    files.file_delete = RegexList(lines_of(optional_file(project / "file_delete_regex", problems)));
    for (const std::string& p : files.file_delete.problems()) problems.push_back("file_delete_regex: " + p);
    if (!config.replace_download_url_by_timezone.empty())
        files.download_servers =
            parse_download_servers(optional_file(project / "download_servers", problems), problems);
    files.plan_classes = load_plan_classes(project);
    for (const std::string& p : files.plan_classes.problems()) problems.push_back(p);
    files.buda = load_buda_catalogue(project);
    for (const std::string& p : files.buda.problems()) problems.push_back(p);
    return files;
}

}  // namespace sluice
