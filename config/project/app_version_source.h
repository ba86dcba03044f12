// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// apps/APP/VERSION/PLATFORM[__PLANCLASS]: what an admin has laid out there, read and checked, nothing done
// yet.
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

struct VersionFolder {
    std::filesystem::path path;
    std::string app, platform, plan_class;  ///< separated by the first "__"
    int version_num = 0;
};

/// The part of PLATFORM__PLANCLASS that is one of `known` is the platform: names of platforms may hold "__" themselves
/// (x86_64-pc-freebsd__sysv). The longest one counts; if none is known the first "__" separates, as upstream has it.
void split_platform(VersionFolder& folder, std::span<const std::string> known);

/// "7.2" -> 702 (the fraction is a number of at most two digits), "13" -> 13.
std::optional<int> parse_version_number(std::string_view text);
/// Sorted by app, number, platform. Folders whose names are no version number are left out, with a line in
/// `skipped`.
std::vector<VersionFolder> find_version_folders(const std::filesystem::path& apps, std::vector<std::string>& skipped);

struct VersionFile {
    std::filesystem::path path;
    std::string physical_name;      ///< unique in the project, for ever; may hold '/' (clients make the folders)
    std::string logical_name;       ///< what the program opens; may be empty
    std::vector<std::string> urls;  ///< empty: the project's own download URL
    bool main_program = false;
    bool copy_file = false;
    bool gzip = false;
    bool executable = false;  ///< main program, or the owner may execute it
};

struct VersionSpec {
    std::vector<VersionFile> files;
    bool dont_throttle = false, needs_network = false, is_wrapper = false, beta = false;
    std::string file_prefix, api_version;  ///< api_version: given in version.xml
};

/// The version's files and its version.xml, if there is one; elements that are unknown there are skipped, with a line
/// in `warnings`. Throws ConfigError: no or two main programs, a file that is named and not there, bad names …
VersionSpec read_version(const std::filesystem::path& folder, std::vector<std::string>& warnings);

/// What follows the first "API_VERSION_" in a program, e.g. "7.20.5"; "" if there is none.
std::string find_api_version(std::string_view program);

}  // namespace sluice
