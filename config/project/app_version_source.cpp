// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/project/app_version_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "config/config_element.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

std::optional<int> parse_digits(std::string_view text) {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = error == std::errc{} && end == text.data() + text.size() && !text.empty() && text[0] != '-';
    return whole ? std::optional<int>(value) : std::nullopt;
}

std::vector<fs::path> sorted_folders(const fs::path& parent) {
    std::vector<fs::path> folders;
    for (const auto& entry : fs::directory_iterator(parent)) {
        const std::string name = entry.path().filename().string();
        if (entry.is_directory() && !name.starts_with('.')) folders.push_back(entry.path());
    }
    std::ranges::sort(folders);
    return folders;
}

[[noreturn]] void fail(const fs::path& file, const std::string& problem) {
    throw ConfigError(fmt::format("{}: {}", file.string(), problem));
}

bool owner_may_execute(const fs::path& file) {
    return (fs::status(file).permissions() & fs::perms::owner_exec) != fs::perms::none;
}

bool flag_of(const fs::path& file, const ConfigElement& parent, std::string_view name) {
    const ConfigElement* element = parent.child(name);
    if (element == nullptr) return false;
    if (element->self_closing) return true;
    const auto value = parse_int(element->text);
    if (!value) fail(file, fmt::format("<{}>{}</{}> must be 0 or 1", name, element->text, name));
    return *value != 0;
}

/// Every file of the folder that belongs to the version, by name.
std::map<std::string, VersionFile> files_of_folder(const fs::path& folder) {
    std::map<std::string, VersionFile> files;
    for (const auto& entry : fs::directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        // A version is for ever: a file that is away now would be left out of it.
        if (entry.is_symlink() && !entry.exists())
            fail(entry.path(), "is a symbolic link that leads nowhere: is its file system mounted?");
        if (!entry.is_regular_file() || name.starts_with('.') || name == "version.xml" || name.ends_with(".sig"))
            continue;
        VersionFile file;
        file.path = entry.path();
        file.physical_name = name;
        files.emplace(name, std::move(file));
    }
    return files;
}

/// Elements that nobody reads: upstream skips them silently.
void warn_of_unknown(const fs::path& xml, const ConfigElement& element, std::initializer_list<std::string_view> known,
                     std::vector<std::string>& warnings) {
    for (const ConfigElement& child : element.children) {
        if (std::ranges::find(known, child.name) != known.end()) continue;
        warnings.push_back(fmt::format("{}: <{}> is unknown in <{}> and ignored; it may hold {}", xml.string(),
                                       child.name, element.name, fmt::join(known, ", ")));
    }
}

void apply_file(const fs::path& xml, const ConfigElement& element, std::map<std::string, VersionFile>& files,
                std::vector<std::string>& warnings) {
    warn_of_unknown(xml, element, {"physical_name", "logical_name", "url", "main_program", "copy_file", "gzip"},
                    warnings);
    const std::string name = element.child_text("physical_name");
    auto found = files.find(name);
    if (found == files.end()) {
        // Files in folders below count only if they are named here.
        const fs::path path = xml.parent_path() / name;
        const bool below = name.find('/') != std::string::npos && is_valid_file_name(name) && fs::is_regular_file(path);
        if (!below) fail(xml, fmt::format("<physical_name>{}</physical_name>: there is no such file", name));
        VersionFile file;
        file.path = path;
        file.physical_name = name;
        found = files.emplace(name, std::move(file)).first;
    }
    VersionFile& file = found->second;
    file.logical_name = element.child_text("logical_name");
    file.main_program = flag_of(xml, element, "main_program");
    file.copy_file = flag_of(xml, element, "copy_file");
    file.gzip = flag_of(xml, element, "gzip");
    for (const ConfigElement& child : element.children) {
        if (child.name == "url") file.urls.push_back(child.text);
    }
}

void apply_version_xml(const fs::path& xml, std::string_view text, VersionSpec& spec,
                       std::map<std::string, VersionFile>& files, std::vector<std::string>& warnings) {
    XmlReader reader(text);
    while (reader.next() != XmlReader::Kind::kStart || reader.name() != "version") {
        if (reader.position() >= text.size()) fail(xml, "there is no <version> element");
    }
    const ConfigElement version = read_element(reader, text, xml.string());
    warn_of_unknown(xml, version,
                    {"file", "dont_throttle", "needs_network", "is_wrapper", "beta", "file_prefix", "api_version"},
                    warnings);
    for (const ConfigElement& child : version.children) {
        if (child.name == "file") apply_file(xml, child, files, warnings);
    }
    spec.dont_throttle = flag_of(xml, version, "dont_throttle");
    spec.needs_network = flag_of(xml, version, "needs_network");
    spec.is_wrapper = flag_of(xml, version, "is_wrapper");
    spec.beta = flag_of(xml, version, "beta");
    spec.file_prefix = version.child_text("file_prefix");
    spec.api_version = version.child_text("api_version");
}

void check_files(const fs::path& folder, VersionSpec& spec) {
    if (spec.files.empty()) fail(folder, "there are no files");
    if (spec.files.size() == 1) spec.files[0].main_program = true;
    const auto main_programs = std::ranges::count_if(spec.files, &VersionFile::main_program);
    if (main_programs != 1) {
        fail(folder, fmt::format("{} of its {} files are marked <main_program/> in version.xml: mark exactly one",
                                 main_programs, spec.files.size()));
    }
    for (VersionFile& file : spec.files) {
        const std::string& name = file.physical_name;
        const bool fine = is_valid_file_name(name) && name.find_first_of(" <>&\"'") == std::string::npos;
        if (!fine) fail(file.path, "names of app files must be without blanks, quotes, <, > and &: rename it");
        file.executable = file.main_program || owner_may_execute(file.path);
    }
}

}  // namespace

std::optional<int> parse_version_number(std::string_view text) {
    const std::size_t dot = text.find('.');
    const auto major = parse_digits(text.substr(0, dot));
    if (!major || *major > 1000000) return std::nullopt;
    if (dot == std::string_view::npos) return major;
    const auto minor = parse_digits(text.substr(dot + 1));
    if (!minor || *minor > 99) return std::nullopt;
    return *major * 100 + *minor;
}

std::vector<VersionFolder> find_version_folders(const fs::path& apps, std::vector<std::string>& skipped) {
    if (!fs::is_directory(apps)) throw ConfigError(apps.string() + " does not exist: lay app versions out there");
    std::vector<VersionFolder> found;
    for (const fs::path& app : sorted_folders(apps)) {
        for (const fs::path& version : sorted_folders(app)) {
            const auto number = parse_version_number(version.filename().string());
            if (!number) {
                skipped.push_back(version.string() + " is no version number (like 1.0): skipped");
                continue;
            }
            for (const fs::path& folder : sorted_folders(version)) {
                const std::string name = folder.filename().string();
                const std::size_t separator = name.find("__");
                const bool with_class = separator != std::string::npos;
                found.push_back({folder, app.filename().string(), name.substr(0, separator),
                                 with_class ? name.substr(separator + 2) : "", *number});
            }
        }
    }
    return found;
}

void split_platform(VersionFolder& folder, std::span<const std::string> known) {
    const std::string name = folder.path.filename().string();
    std::size_t longest = 0;
    for (const std::string& platform : known) {
        const bool whole = name == platform;
        if ((whole || name.starts_with(platform + "__")) && platform.size() > longest) longest = platform.size();
    }
    if (longest == 0) return;
    folder.platform = name.substr(0, longest);
    folder.plan_class = name.size() > longest + 2 ? name.substr(longest + 2) : "";
}

VersionSpec read_version(const fs::path& folder, std::vector<std::string>& warnings) {
    VersionSpec spec;
    std::map<std::string, VersionFile> files = files_of_folder(folder);
    const fs::path xml = folder / "version.xml";
    if (const auto text = read_file(xml)) apply_version_xml(xml, *text, spec, files, warnings);
    for (auto& [name, file] : files) spec.files.push_back(std::move(file));
    check_files(folder, spec);
    return spec;
}

std::string find_api_version(std::string_view program) {
    constexpr std::string_view kMark = "API_VERSION_";
    for (std::size_t at = program.find(kMark); at != std::string_view::npos; at = program.find(kMark, at + 1)) {
        const std::string_view rest = program.substr(at + kMark.size(), 32);
        const std::size_t end = std::min(rest.find_first_not_of("0123456789."), rest.size());
        const std::string_view number = rest.substr(0, end);
        if (std::ranges::count(number, '.') == 2 && number.front() != '.' && number.back() != '.')
            return std::string(number);
    }
    return "";
}

}  // namespace sluice
