// SPDX-License-Identifier: LGPL-3.0-or-later
// sluice_options: prints docs/options.md from the option table, or checks a project.
#include <fmt/core.h>
#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "config/options_doc.h"
#include "sched/check/project_check.h"
#include "sluice/daemon/command_line.h"

namespace sluice {
namespace {

/// Errors last: that is where people look.
int check(const std::string& given, bool database) {
    const ProjectFindings found = check_project(given, {.database = database});
    const auto print = [&](Importance importance, const char* word) {
        for (const Finding& finding : found.list)
            if (finding.importance == importance) fmt::print("{}: {}\n", word, line_of(finding));
    };
    print(Importance::kNote, "note");
    print(Importance::kWarning, "warning");
    print(Importance::kError, "error");
    const auto errors = found.count(Importance::kError), warnings = found.count(Importance::kWarning);
    if (errors == 0) {
        fmt::print("{} can be used ({} warnings)\n", found.file.string(), warnings);
        return 0;
    }
    fmt::print("{} {} ({} errors, {} warnings)\n", found.file.string(), found.readable ? "has errors" : "can't be used",
               errors, warnings);
    return 1;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    sluice::CommandLine line(
        "sluice_options", "Checks a project's config.xml, or documents its options",
        "Changes nothing. Prints one line for each problem, with the remedy: a command or a statement.\n\n"
        "Errors: what a program refuses; a value that is not allowed, whose option then has its default. Of the "
        "database: it cannot be reached, the account lacks rights, a table or column is missing or of another kind, "
        "an id is beyond 80 % of what its column can hold.\n\n"
        "Warnings: unknown options, which programs ignore; files and folders that others can change; a resident "
        "scheduler that the web server's account cannot reach; apps without a validator, an assimilator, a "
        "size_regulator or a size_census; daemons that batches and gangs need; output templates whose jobs BOINC's "
        "own scheduler cannot send; XML files that strict parsers refuse; what programs can do without in the "
        "database.");
    bool markdown = false, no_database = false;
    std::string project;
    line.option(
        "--check", project,
        "Say what is unknown or wrong in PROJECT/config.xml and config_aux.xml, and in what they lead to: keys, "
        "folders, daemons, plan_class_spec.xml. Asks each daemon of Sluice about its arguments, unless root runs it. "
        "Of a FILE of another name it checks only the text.",
        "PROJECT|FILE");
    line.flag("--no_database", no_database, "With --check: do not look at the database.");
    line.flag("--markdown", markdown, "Print the documentation of all options (docs/options.md).");
    line.section(
        "EXIT STATUS",
        "0: nothing is wrong. 1: there is an error, the file can't be read, or the database can't be reached.");
    if (const auto status = line.parse(argc, argv)) return *status;
    if (markdown == !project.empty()) return line.fail("--check PROJECT or --markdown is required");
    if (!markdown) return sluice::check(project, !no_database);
    std::fputs(sluice::options_markdown().c_str(), stdout);
    return 0;
}
