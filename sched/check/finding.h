// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What `sluice check` and sluice_options --check found: values, which each of them prints in its own way.
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// What it means for the move. Errors refuse it.
enum class Importance { kError, kWarning, kDifference, kNote };

/// In the order in which people should read them.
enum class FindingGroup { kWouldNotWork, kWouldDiffer, kNotThere, kUnsafe, kNotLookedAt };

struct Finding {
    Importance importance = Importance::kNote;
    FindingGroup group = FindingGroup::kWouldNotWork;
    std::string id;          ///< for scripts; it does not change with the text
    std::string text;        ///< one line
    std::string command;     ///< the command or statement that mends it; empty: `text` says what to do
    std::int64_t count = 1;  ///< how many things of the project it is about
};

/// The same for a list of lines. Lines that end with a statement of SQL have that as their command.
struct FindingKind {
    FindingGroup group = FindingGroup::kWouldNotWork;
    std::string_view id;
};

struct ProjectFindings {
    std::filesystem::path file;  ///< the config.xml
    std::vector<Finding> list;
    bool readable = true;  ///< false: config.xml itself could not be read; an error says why
    int tables = 0;        ///< the version of the tables sluice_*; 0: there are none, or the database was not asked

    void add(Finding finding) { list.push_back(std::move(finding)); }
    void error(FindingKind kind, const std::string& line) { add_line(Importance::kError, kind, line); }
    void warning(FindingKind kind, const std::string& line) { add_line(Importance::kWarning, kind, line); }
    void note(std::string_view id, const std::string& line) {
        add_line(Importance::kNote, {FindingGroup::kNotLookedAt, id}, line);
    }
    void lines(FindingKind kind, const std::vector<std::string>& errors, const std::vector<std::string>& warnings);

    /// By group, then importance, then how many things it is about.
    void sort();
    std::int64_t count(Importance importance) const;
    /// The texts of the errors, with their commands.
    std::vector<std::string> errors() const;
    /// As exit status, if it is readable: 0 nothing to do, 1 something is wrong, or would differ.
    int status() const;

  private:
    void add_line(Importance importance, FindingKind kind, const std::string& line);
};

/// The text, and behind it the command where the text does not hold it.
std::string line_of(const Finding& finding);

/// Below headings, for people.
std::string findings_text(const ProjectFindings& found);
/// One object: project, readable, tables_version, findings.
std::string findings_json(const ProjectFindings& found);

}  // namespace sluice
