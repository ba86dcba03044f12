// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/check/machine.h"

#include <fmt/core.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <set>

#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

constexpr std::uintmax_t kLeast = std::uintmax_t{512} << 20;
constexpr double kLeastPart = .03;
constexpr std::size_t kLongestSite = 4 << 20;

/// Directives that publish a folder, in small letters.
constexpr std::array<std::string_view, 4> kPublish{"documentroot", "alias", "root", "scriptalias"};

std::string in_quotes_or_not(std::string_view word) {
    if (word.size() >= 2 && (word.front() == '"' || word.front() == '\'')) word = word.substr(1, word.size() - 2);
    while (word.ends_with(';') || (word.size() > 1 && word.ends_with('/'))) word.remove_suffix(1);
    return std::string(word);
}

void add_room(const fs::path& folder, const char* what, std::set<unsigned long>& seen, std::vector<Finding>& found,
              std::uintmax_t least = kLeast) {
    struct statvfs info {};
    if (::statvfs(folder.c_str(), &info) != 0 || !seen.insert(info.f_fsid).second || info.f_blocks == 0) return;
    const std::uintmax_t free = static_cast<std::uintmax_t>(info.f_bavail) * info.f_frsize;
    const double part = static_cast<double>(info.f_bavail) / static_cast<double>(info.f_blocks);
    if (free >= least && part >= kLeastPart) return;
    if (free >= 20 * least) return;  // 3 % of a large disk last long
    found.push_back(
        {free < least / 8 ? Importance::kError : Importance::kWarning, FindingGroup::kWouldNotWork, "disk_room",
         fmt::format("{} ({}) has {} MB free, {:.0f} %: make room", folder.string(), what, free >> 20, 100 * part),
         ""});
}

}  // namespace

std::vector<Finding> room_findings(const fs::path& project, const ProjectConfig& config) {
    std::vector<Finding> found;
    std::set<unsigned long> seen;
    add_room(project, "the project", seen, found);
    add_room(config.upload_dir, "uploads", seen, found);
    add_room(config.download_dir, "downloads", seen, found);
    add_room("/dev/shm", "the job array", seen, found, kLeast / 16);
    struct statvfs info {};
    if (::statvfs(project.c_str(), &info) == 0 && info.f_files > 0 && info.f_favail < 1000)
        found.push_back(
            {Importance::kError, FindingGroup::kWouldNotWork, "disk_room",
             fmt::format("the disk of {} has room for {} more files: remove some", project.string(), info.f_favail),
             ""});
    return found;
}

std::vector<std::string> lines_that_open(std::string_view text, const fs::path& project) {
    std::vector<std::string> found;
    for (std::string_view line : split(text, '\n')) {
        line = trim(line);
        std::vector<std::string> words;
        for (const std::string_view word : split(line, ' '))
            if (!trim(word).empty()) words.push_back(in_quotes_or_not(trim(word)));
        if (words.size() < 2 || std::ranges::find(kPublish, to_lower_ascii(words[0])) == kPublish.end()) continue;
        const std::string& folder = words.back();
        if (folder == project.string() || folder == (project / "keys").string()) found.emplace_back(line);
    }
    return found;
}

std::vector<fs::path> web_server_folders() {
    return {"/etc/apache2/sites-enabled", "/etc/apache2/conf-enabled", "/etc/httpd/conf.d", "/etc/nginx/sites-enabled",
            "/etc/nginx/conf.d"};
}

std::vector<Finding> web_server_findings(const fs::path& project, const std::vector<fs::path>& folders) {
    std::vector<Finding> found;
    bool known = false;
    for (const fs::path& folder : folders) {
        std::error_code none;
        for (const auto& entry : fs::directory_iterator(folder, none)) {
            std::string text;
            try {
                text = read_file(entry.path(), kLongestSite).value_or("");
            } catch (const FileError&) {  // another account's
                continue;
            }
            known |= text.find(project.string() + "/") != text.npos;
            for (const std::string& line : lines_that_open(text, project))
                found.push_back(
                    {Importance::kError, FindingGroup::kUnsafe, "web_opens_project",
                     fmt::format("{}: '{}' lets everybody read config.xml, with the password, and the keys. "
                                 "Publish only html/, download/ and cgi-bin/",
                                 entry.path().string(), in_one_line(line)),
                     ""});
        }
    }
    if (!known)
        found.push_back({Importance::kNote, FindingGroup::kNotLookedAt, "web_server",
                         "no file of the web server's configuration that can be read names this project", ""});
    return found;
}

}  // namespace sluice
