// SPDX-License-Identifier: LGPL-3.0-or-later
// sluice: looks at a project before Sluice's programs run it, moves it, and moves it back.
#include <fmt/core.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "config/run/own_programs.h"
#include "sched/adopt/adoption.h"
#include "sched/check/project_check.h"
#include "sluice/base/error.h"
#include "sluice/daemon/program.h"

namespace sluice {
namespace {

constexpr int kNothingToDo = 0, kDifferences = 1, kCouldNot = 2;

struct MoveArguments {
    std::vector<std::string> words;
    std::string prefix;
    bool dry_run = false, json = false, no_database = false, despite_errors = false;
    double watch = 60, wait = 300;
};

/// A message may hold what a volunteer or a file named: any bytes.
std::string json_text(const nlohmann::ordered_json& value) {
    return value.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

int check(const std::string& project, const MoveArguments& given) {
    const ProjectFindings found = check_project(project, !given.no_database);
    if (given.json) {
        fmt::print("{}\n", json_text({{"project", found.file.parent_path().string()},
                                      {"readable", found.readable},
                                      {"errors", found.errors},
                                      {"warnings", found.warnings},
                                      {"notes", found.notes}}));
    } else {
        for (const std::string& error : found.errors) fmt::print("error: {}\n", error);
        for (const std::string& warning : found.warnings) fmt::print("warning: {}\n", warning);
        for (const std::string& note : found.notes) fmt::print("note: {}\n", note);
        fmt::print("{}: {} errors, {} warnings\n", found.file.string(), found.errors.size(), found.warnings.size());
    }
    if (!found.readable) return kCouldNot;
    return found.errors.empty() && found.warnings.empty() ? kNothingToDo : kDifferences;
}

int move(const std::string& command, const std::string& project, const MoveArguments& given) {
    AdoptionOptions options{.project = std::filesystem::absolute(project).lexically_normal(),
                            .prefix = given.prefix.empty() ? own_prefix() : std::filesystem::absolute(given.prefix),
                            .dry_run = given.dry_run,
                            .stop_wait = given.wait,
                            .watch = given.watch};
    if (!options.project.has_filename()) options.project = options.project.parent_path();
    Adoption adoption(std::move(options), [&](const std::filesystem::path& folder) {
        return given.despite_errors ? std::vector<std::string>() : check_project(folder.string(), true).errors;
    });
    const bool changed = command == "adopt" ? adoption.adopt() : adoption.revert();
    return changed && given.dry_run ? kDifferences : kNothingToDo;
}

int run(int argc, const char* const* argv) {
    CommandLine line(
        "sluice", "Moves a BOINC project to Sluice's programs, and back",
        "check PROJECT: look at the project and change nothing; each problem is a line with the remedy.\n\n"
        "adopt PROJECT: keep BOINC's programs in PROJECT/before-sluice, put Sluice's in their place, start "
        "the project and watch it. If something fails within a minute, the old programs come back.\n\n"
        "revert PROJECT: the old programs, and a database as they know it.\n\n"
        "During a move clients are told to come back in 60 seconds. After a kill, call the same command "
        "again: it finishes the move. Run adopt and revert as the project's account.");
    MoveArguments given;
    line.positional("COMMAND PROJECT", given.words, "check, adopt or revert; the project's folder.");
    line.flag("--dry_run", given.dry_run, "With adopt and revert: say what would be done, and do nothing.");
    line.flag("--json", given.json, "With check: the findings as JSON.");
    line.flag("--no_database", given.no_database, "With check: do not look at the database.");
    line.flag("--despite_errors", given.despite_errors, "With adopt: also if check finds errors.");
    line.option("--install_from", given.prefix, "Where Sluice is installed (default: where this program is).",
                "PREFIX");
    line.option("--wait", given.wait, "Seconds that daemons have to end (300).", "S");
    line.option("--watch", given.watch, "Seconds that adopt watches the project after the start (60).", "S");
    line.section("FILES",
                 "PROJECT/before-sluice: the programs and the config.xml before the move, and how far it has come.");
    line.section(
        "EXIT STATUS",
        "check: 0 nothing to do, 1 errors or warnings, 2 config.xml could not be read. adopt, revert: 0 done, or "
        "nothing to do; 1 a dry run that has something to do; 2 it could not be done.");
    if (const auto status = line.parse(argc, argv)) return *status == 0 ? 0 : kCouldNot;
    const auto refuse = [&](const std::string& why) { return line.fail(why), kCouldNot; };
    if (given.words.size() != 2) return refuse("name a command and a project: sluice check PROJECT");
    const std::string& command = given.words[0];
    const bool moves = command == "adopt" || command == "revert";
    if (command != "check" && !moves) return refuse("the commands are check, adopt and revert");
    if (moves && (given.json || given.no_database)) return refuse("--json and --no_database belong to check");
    if (!moves && (given.dry_run || given.despite_errors))
        return refuse("check has no such option: it changes nothing");
    if (!(given.watch >= 1 && given.watch <= 3600)) return refuse("--watch: 1 to 3600 seconds");
    if (!(given.wait >= 1 && given.wait <= 86400)) return refuse("--wait: 1 to 86400 seconds");
    try {
        return moves ? move(command, given.words[1], given) : check(given.words[1], given);
    } catch (const Error& error) {
        fmt::print(stderr, "sluice: {}\n", error.what());
        return kCouldNot;
    }
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    return sluice::tool_main({}, [&] { return sluice::run(argc, argv); });
}
