// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/check/finding.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <tuple>

namespace sluice {
namespace {

constexpr const char* kImportances[] = {"error", "warning", "difference", "note"};
constexpr const char* kGroups[] = {"would_not_work", "would_differ", "not_there", "unsafe", "not_looked_at"};
constexpr const char* kHeadings[] = {"What would not work", "What would differ at compat_level 0",
                                     "What Sluice does not have", "What is unsafe today", "What was not looked at"};

const char* name_of(Importance importance) { return kImportances[static_cast<std::size_t>(importance)]; }

/// The statement at the end of a line that mends a database; empty: there is none.
std::string statement_in(const std::string& line) {
    constexpr std::array<std::string_view, 5> kBegin{": ALTER TABLE ", ": CREATE TABLE ", ": CREATE VIEW ", ": GRANT ",
                                                     ": SET GLOBAL "};
    for (const std::string_view begin : kBegin)
        if (const std::size_t at = line.find(begin); at != line.npos) return line.substr(at + 2);
    return {};
}

std::string counted(std::int64_t n, const char* what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); }

}  // namespace

void ProjectFindings::add_line(Importance importance, FindingKind kind, const std::string& line) {
    add({importance, kind.group, std::string(kind.id), line, statement_in(line)});
}

void ProjectFindings::lines(FindingKind kind, const std::vector<std::string>& errors,
                            const std::vector<std::string>& warnings) {
    for (const std::string& line : errors) error(kind, line);
    for (const std::string& line : warnings) warning(kind, line);
}

void ProjectFindings::sort() {
    std::ranges::stable_sort(list, {}, [](const Finding& f) { return std::tuple(f.group, f.importance, -f.count); });
}

std::int64_t ProjectFindings::count(Importance importance) const {
    return std::ranges::count(list, importance, &Finding::importance);
}

std::vector<std::string> ProjectFindings::errors() const {
    std::vector<std::string> texts;
    for (const Finding& finding : list)
        if (finding.importance == Importance::kError) texts.push_back(line_of(finding));
    return texts;
}

int ProjectFindings::status() const {
    const auto nothing_to_do = [](const Finding& f) { return f.importance == Importance::kNote; };
    return std::ranges::all_of(list, nothing_to_do) ? 0 : 1;
}

std::string line_of(const Finding& finding) {
    if (finding.command.empty() || finding.text.find(finding.command) != std::string::npos) return finding.text;
    return finding.text + "; as root: " + finding.command;
}

std::string findings_text(const ProjectFindings& found) {
    std::string text;
    const Finding* before = nullptr;
    for (const Finding& finding : found.list) {
        if (before == nullptr || before->group != finding.group)
            text += fmt::format("{}{}:\n", before == nullptr ? "" : "\n",
                                kHeadings[static_cast<std::size_t>(finding.group)]);
        before = &finding;
        text += fmt::format("  {}: {}\n", name_of(finding.importance), line_of(finding));
    }
    const std::string tables = found.tables > 0 ? fmt::format("; tables sluice_* of version {}", found.tables) : "";
    return text + fmt::format("{}{}: {}, {}, {}{}\n", text.empty() ? "" : "\n", found.file.string(),
                              counted(found.count(Importance::kError), "error"),
                              counted(found.count(Importance::kWarning), "warning"),
                              counted(found.count(Importance::kDifference), "difference"), tables);
}

std::string findings_json(const ProjectFindings& found) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Finding& f : found.list)
        list.push_back({{"group", kGroups[static_cast<std::size_t>(f.group)]},
                        {"importance", name_of(f.importance)},
                        {"id", f.id},
                        {"count", f.count},
                        {"text", f.text},
                        {"command", f.command}});
    const nlohmann::ordered_json all{{"project", found.file.parent_path().string()},
                                     {"readable", found.readable},
                                     {"tables_version", found.tables},
                                     {"findings", list}};
    // A text may hold what a volunteer or a file named: any bytes.
    return all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace sluice
