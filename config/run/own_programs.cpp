// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/run/own_programs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "config/run/entry_mark.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/process.h"
#include "sluice/base/tee_mark.h"
#include "sluice/base/text.h"
#include "sluice/base/users.h"

namespace sluice {
namespace {

constexpr std::size_t kLongestProgram = 256u << 20, kLongestEntry = 1u << 20, kLongestTee = 16u << 20;

/// The feeder's array has a layout of Sluice's own; start is none of them, and knows upstream's daemons, too.
constexpr const char* kSharers[] = {"bin/feeder", "bin/scheduler", "bin/show_shmem", "cgi-bin/cgi", "cgi-bin/fcgi"};
/// Without these a project does not serve: that they are gone matters, too.
constexpr const char* kNeeded[] = {"bin/feeder", "cgi-bin/cgi", "cgi-bin/file_upload_handler"};

/// Tools that read no array and no row: either side's do, and a project may have had upstream's before Sluice came. Of
/// the last two upstream has none: `sluice canary` and `sluice shadow` use them, and they are too small to say whose
/// they are.
constexpr const char* kEitherServes[] = {"bin/run_in_ops", "bin/parse_config", "bin/grep_logs", "bin/canary_front",
                                         "bin/cgi_tee"};

/// The program in that file; empty: it is a script, longer, or can't be read.
std::string program_text(const fs::path& file, std::size_t longest) {
    try {
        std::string text = read_file(file, longest).value_or("");
        if (text.starts_with("\177ELF")) return text;
    } catch (const FileError&) {  // as if it were not there
    }
    return {};
}

/// Programs that know entries hold the mark, too.
bool is_entry(const fs::path& file) {
    const std::string text = program_text(file, kLongestEntry);
    return text.find(kEntryMark) != std::string::npos && text.find(kOwnProgramText) == std::string::npos;
}

/// What serves: of the tee of `sluice shadow --tee` the scheduler behind it.
fs::path behind_tee(const fs::path& file) {
    const fs::path behind = file.parent_path() / tee::kBehind;
    std::error_code ignored;
    if (file.filename() != "cgi" || !fs::exists(behind, ignored)) return file;
    const std::string text = program_text(file, kLongestTee);
    return text.find(std::string(tee::kMark[0]) + std::string(tee::kMark[1])) == std::string::npos ? file : behind;
}

bool is_there(const fs::path& file) {
    std::error_code ignored;
    return fs::exists(file, ignored);
}

std::vector<std::string> foreign_of_ours(const fs::path& project) {
    std::vector<std::string> names = programs_in(project / kPrefixLink);
    if (is_there(project / "cgi-bin/fcgi")) names.emplace_back("cgi-bin/fcgi");
    std::erase_if(names, [&](const std::string& name) {
        if (std::ranges::find(kEitherServes, name) != std::end(kEitherServes)) return true;
        const bool needed = std::ranges::find(kNeeded, name) != std::end(kNeeded);
        return is_there(project / name) ? is_ours(project / name) : !needed;
    });
    return names;
}

std::vector<std::string> foreign_of_mixed(const fs::path& project) {
    std::vector<std::string> names;
    if (is_there(project / kCanaryFolder)) return names;
    bool some_ours = false;
    for (const char* name : kSharers) {
        if (!is_there(project / name)) continue;
        const bool ours = is_ours(project / name);
        some_ours |= ours;
        if (!ours) names.emplace_back(name);
    }
    return some_ours ? names : std::vector<std::string>();
}

/// `sluice adopt` has put ours in the place of each program that it kept, and some beside them.
std::vector<std::string> foreign_of_adopted(const fs::path& project) {
    std::vector<std::string> names = programs_in(project / kReplacedFolder);
    for (const char* name : {"bin/scheduler", "cgi-bin/cgi", "bin/feeder"})
        if (std::ranges::find(names, name) == names.end()) names.emplace_back(name);
    std::erase_if(names, [&](const std::string& name) { return is_ours(project / name); });
    return names;
}

/// Not while a move is under way: then they are mixed for some seconds.
bool is_adopted(const fs::path& project) {
    try {
        return read_file(project / kReplacedFolder / "state", 4096).value_or("").starts_with(kAdoptedState);
    } catch (const FileError&) {  // another account's
        return false;
    }
}

/// What puts ours back, from stopping to starting.
std::string command_for(const fs::path& project, const std::vector<std::string>& names) {
    std::error_code ignored;
    const fs::path link = fs::read_symlink(project / kPrefixLink, ignored);
    const fs::path prefix = link.empty() ? own_prefix() : link;
    std::string renew = shell_quoted((prefix / "bin/make_project").string()) + " --renew_programs .";
    for (const std::string& name : names) renew += " " + shell_quoted(fs::path(name).filename().string());
    return fmt::format("cd {} && bin/stop; {} && bin/start", shell_quoted(project.string()), renew);
}

std::string owner_of(const fs::path& project) {
    struct stat info {};
    return ::stat(project.c_str(), &info) == 0 ? user_name(info.st_uid) : "the project's user";
}

}  // namespace

fs::path installed_program(const fs::path& file) {
    std::error_code ignored;
    const fs::path self = fs::canonical(file, ignored);
    if (self.empty() || !is_entry(self)) return file;
    const fs::path folder = self.parent_path();
    const fs::path installed = folder.parent_path() / kPrefixLink / folder.filename();
    // By a link's name a program of several names knows which it is to be: batch_stats -> batches.
    if (const fs::path named = installed / file.filename(); is_there(named)) return named;
    return installed / installed_name(self.filename().c_str());
}

bool is_own_program_text(std::string_view bytes) {
    return bytes.starts_with("\177ELF") && bytes.find(kOwnProgramText) != std::string_view::npos;
}

bool is_own_program(const fs::path& file) { return is_own_program_text(program_text(file, kLongestProgram)); }

bool is_ours(const fs::path& file) {
    const fs::path served = behind_tee(file);
    return is_entry(served) || is_own_program(served);
}

std::vector<std::string> programs_in(const fs::path& prefix) {
    std::vector<std::string> names;
    for (const char* folder : {"bin", "cgi-bin"}) {
        std::error_code ignored;
        for (const auto& entry : fs::directory_iterator(prefix / folder, ignored))
            if (::access(entry.path().c_str(), X_OK) == 0 && entry.is_regular_file(ignored))
                names.push_back(std::string(folder) + "/" + entry.path().filename().string());
    }
    std::ranges::sort(names);
    return names;
}

ForeignPrograms foreign_programs(const fs::path& project) {
    std::error_code ignored;
    const bool made_here = fs::is_symlink(project / kPrefixLink, ignored);
    ForeignPrograms found;
    found.names = made_here             ? foreign_of_ours(project)
                  : is_adopted(project) ? foreign_of_adopted(project)
                                        : foreign_of_mixed(project);
    if (found.names.empty()) return found;
    found.command = command_for(project, found.names);
    const bool array = std::ranges::any_of(
        found.names, [](const std::string& name) { return std::ranges::find(kSharers, name) != std::end(kSharers); });
    found.line =
        fmt::format("{} of {} {} Sluice's (BOINC's tools/upgrade copies its own there){}; as {}: {}",
                    fmt::join(found.names, ", "), project.string(), found.names.size() == 1 ? "is not" : "are not",
                    array ? ": feeder and scheduler have different job arrays, and no host gets work" : "",
                    owner_of(project), found.command);
    return found;
}

}  // namespace sluice
