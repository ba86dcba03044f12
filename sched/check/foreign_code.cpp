// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/check/foreign_code.h"

#include <fmt/core.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <set>

#include "config/options/daemon_findings.h"
#include "config/run/own_programs.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/process.h"

namespace sluice {
namespace {

constexpr std::uintmax_t kMostOfProgram = 256u << 20;
constexpr std::size_t kStretch = 1 << 20, kLongestPage = 4 << 20, kMostPages = 20000;

/// The shared library, and names that the type information of its classes has, which stay in a stripped program.
constexpr std::array<std::string_view, 3> kMarks{"libsched.so", "11DB_WORKUNIT", "9DB_RESULT"};
/// What Sluice's library for validators and assimilators holds, whose classes have BOINC's names.
constexpr std::string_view kOurMark = "SLUICE_HANDLER_SOCKET";
const std::size_t kOverlap = 32;

/// What adopt swaps, and pages may run.
constexpr std::array<std::string_view, 3> kSwapped{"feeder", "transitioner", "show_shmem"};

bool is_of_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_page(const fs::path& file) { return file.extension() == ".php" || file.extension() == ".inc"; }

/// By program: how many pages run it, and the first of them.
struct Callers {
    std::int64_t pages = 0;
    std::string first;
};

std::map<std::string, Callers> callers_in(const fs::path& project) {
    std::map<std::string, Callers> callers;
    std::size_t looked_at = 0;
    for (const char* folder : {"html/inc", "html/ops", "html/project", "html/user"}) {
        std::error_code none;
        std::vector<fs::path> pages;
        for (const auto& entry : fs::directory_iterator(project / folder, none))
            if (is_page(entry.path()) && entry.is_regular_file(none)) pages.push_back(entry.path());
        std::ranges::sort(pages);
        for (const fs::path& page : pages) {
            if (++looked_at > kMostPages) return callers;
            try {
                for (const std::string& name : programs_run_by(read_file(page, kLongestPage).value_or("")))
                    if (Callers& by = callers[name]; by.pages++ == 0)
                        by.first = std::string(folder) + "/" + page.filename().string();
            } catch (const FileError&) {  // longer than any page, or another account's
            }
        }
    }
    return callers;
}

std::string pages_text(const Callers& callers) {
    return callers.pages == 1 ? callers.first : fmt::format("{} and {} more pages", callers.first, callers.pages - 1);
}

}  // namespace

bool is_linked_with_boinc(const fs::path& program) {
    std::ifstream in(program, std::ios::binary);
    std::string part;
    std::uintmax_t looked_at = 0;
    bool is_marked = false;
    while (in && looked_at < kMostOfProgram) {
        const std::size_t kept = std::min(part.size(), kOverlap);
        part = part.substr(part.size() - kept);
        part.resize(kept + kStretch);
        in.read(part.data() + kept, static_cast<std::streamsize>(kStretch));
        part.resize(kept + static_cast<std::size_t>(in.gcount()));
        if (looked_at == 0 && !part.starts_with("\177ELF")) return false;
        looked_at += kStretch;
        if (part.find(kOurMark) != part.npos) return false;
        for (const std::string_view mark : kMarks) is_marked |= part.find(mark) != part.npos;
    }
    return is_marked;
}

std::vector<Finding> linked_programs(const fs::path& bin, const DaemonsAndTasks& entries) {
    std::set<std::string> boincs, of_project;
    const fs::path installed = own_prefix() / "bin";
    for (const std::vector<std::string>& words : enabled_commands(entries)) {
        const fs::path name = words.empty() ? fs::path() : fs::path(words[0]).filename();
        if (std::ranges::find(kSwapped, name.string()) != kSwapped.end()) continue;
        const fs::path file = bin / name;
        std::error_code none;
        if (!fs::is_regular_file(file, none) || is_own_program(file) || !is_linked_with_boinc(file)) continue;
        (fs::exists(installed / name, none) ? boincs : of_project).insert(name.string());
    }
    std::vector<Finding> found;
    if (!boincs.empty())
        found.push_back(
            {Importance::kNote, FindingGroup::kWouldDiffer, "boincs_daemons_stay",
             fmt::format("BOINC's own {} stay: they work beside Sluice's programs. docs/job_flow.md says what "
                         "Sluice's do better; to swap them, too: {} --renew_programs {} {}",
                         fmt::join(boincs, ", "), (installed / "make_project").string(), bin.parent_path().string(),
                         fmt::join(boincs, " ")),
             "", static_cast<std::int64_t>(boincs.size())});
    if (!of_project.empty())
        found.push_back({Importance::kNote, FindingGroup::kNotThere, "linked_with_boinc",
                         fmt::format("{} are linked with BOINC's server library: they go on as they are, with its "
                                     "races. docs/validators.md says how to link them with Sluice's",
                                     fmt::join(of_project, ", ")),
                         "", static_cast<std::int64_t>(of_project.size())});
    return found;
}

std::vector<std::string> programs_run_by(std::string_view page) {
    constexpr std::string_view kFolder = "bin/";
    std::set<std::string> names;
    for (std::size_t at = 0; (at = page.find(kFolder, at)) != page.npos;) {
        const std::size_t begin = at + kFolder.size();
        std::size_t end = begin;
        const auto joins = [&] {  // "create.php", but not the point behind a sentence
            return end > begin && (page[end] == '.' || page[end] == '-') && end + 1 < page.size() &&
                   is_of_name(page[end + 1]);
        };
        while (end < page.size() && (is_of_name(page[end]) || joins())) ++end;
        // "/usr/bin/" and "/bin/" are the machine's, "cgi-bin/" is none, "../bin/" and "./bin/" are the project's.
        const bool below = at > 0 && page[at - 1] == '/';
        const bool of_project =
            below ? at > 1 && page[at - 2] == '.' : at == 0 || (!is_of_name(page[at - 1]) && page[at - 1] != '-');
        if (of_project && end > begin) names.insert(std::string(page.substr(begin, end - begin)));
        at = end;
    }
    return {names.begin(), names.end()};
}

std::vector<Finding> page_findings(const fs::path& project) {
    std::vector<Finding> found;
    for (const auto& [name, callers] : callers_in(project)) {
        std::error_code none;
        if (!fs::exists(project / "bin" / name, none))
            found.push_back({Importance::kWarning, FindingGroup::kWouldNotWork, "page_runs_missing_program",
                             fmt::format("{} run bin/{}, which is not there", pages_text(callers), name), "",
                             callers.pages});
        else if (std::ranges::find(kSwapped, name) != kSwapped.end())
            found.push_back(
                {Importance::kDifference, FindingGroup::kWouldDiffer, "page_runs_swapped_program",
                 fmt::format("{} run bin/{}: what Sluice's prints and logs is not BOINC's", pages_text(callers), name),
                 "", callers.pages});
    }
    return found;
}

}  // namespace sluice
