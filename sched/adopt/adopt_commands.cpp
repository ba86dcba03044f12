// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/adopt/adopt_commands.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/run/own_programs.h"
#include "sched/adopt/adoption.h"
#include "sched/check/project_check.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/process.h"
#include "sluice/daemon/command_line.h"
#include "sluice/daemon/subcommand.h"

namespace sluice {
namespace {

struct MoveArguments {
    std::vector<std::string> projects;
    std::string prefix;
    bool dry_run = false, despite_errors = false, json = false;
    double watch = 60, wait = 300;
};

void add_shared(CommandLine& line, MoveArguments& given) {
    line.failure_status(kCouldNot);
    line.positional("PROJECT", given.projects, "The project's folder.");
    line.flag("--dry_run", given.dry_run, "Say what would be done, and do nothing.");
    line.flag("--json", given.json,
              "At the end, what was done and what came of it as JSON; the steps go to standard error.");
    line.option("--install_from", given.prefix, "Where Sluice is installed (default: where this program is).",
                "PREFIX");
    line.option("--wait", given.wait, "Seconds that daemons have to end (300).", "S");
    line.section("FILES",
                 "PROJECT/before-sluice: the programs and the config.xml before the move, and how far it has come.");
    line.section("EXIT STATUS",
                 "0: done, or nothing to do. 1: a dry run that has something to do. 2: it could not be done.");
}

std::optional<int> parse_move(CommandLine& line, const MoveArguments& given, int argc, const char* const* argv) {
    if (const auto status = line.parse(argc, argv)) return status;
    if (given.projects.size() != 1 || given.projects[0].empty()) return line.fail("give one project's folder");
    if (!(given.watch >= 1 && given.watch <= 3600)) return line.fail("--watch: 1 to 3600 seconds are allowed");
    if (!(given.wait >= 1 && given.wait <= 86400)) return line.fail("--wait: 1 to 86400 seconds are allowed");
    return std::nullopt;
}

AdoptionOptions options_of(const MoveArguments& given) {
    AdoptionOptions options{.project = std::filesystem::absolute(given.projects[0]).lexically_normal(),
                            .prefix = given.prefix.empty() ? own_prefix() : std::filesystem::absolute(given.prefix),
                            .dry_run = given.dry_run,
                            .stop_wait = given.wait,
                            .watch = given.watch,
                            .say = {}};
    if (!options.project.has_filename()) options.project = options.project.parent_path();
    return options;
}

/// Everything that is printed from here on goes to standard error, also by programs that are started. What standard
/// output was before.
OwnedFd keep_output_free() {
    OwnedFd output(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
    if (output.get() < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        throw Error("Can't set standard output aside: is it closed?");
    return output;
}

const char* word_of(Adoption::Failure failure) {
    return failure == Adoption::Failure::kRefused  ? "refused"
           : failure == Adoption::Failure::kUndone ? "undone"
                                                   : "unfinished";
}

int move_with_json(const MoveArguments& given, AdoptionOptions options, const FindErrors& find_errors,
                   bool (Adoption::*move)()) {
    const OwnedFd output = keep_output_free();
    auto steps = nlohmann::ordered_json::array();
    options.say = [&steps, say = options.say](const std::string& line) { steps.push_back(line), say(line); };
    nlohmann::ordered_json all = {{"project", options.project.string()}, {"dry_run", given.dry_run}};
    Adoption adoption(options, find_errors);
    int status = kCouldNot;
    std::string outcome, error;
    try {
        const bool changed = (adoption.*move)();
        outcome = !changed ? "nothing_to_do" : given.dry_run ? "would_change" : "done";
        status = changed && given.dry_run ? kDifferences : kNothingToDo;
    } catch (const std::exception& e) {
        error = e.what();
        outcome = word_of(adoption.failure());
    }
    all["steps"] = steps;
    all["outcome"] = outcome;
    all["stage"] = adoption.stage();
    all["error"] = error;
    if (!error.empty()) fmt::print(stderr, "{}\n", error);
    const std::string text = all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
    return write_all(output.get(), text) ? status : kCouldNot;
}

/// The terminal may be gone: that ends no move.
void print_step(const std::string& line) {
    std::fputs((line + "\n").c_str(), stdout);
    std::fflush(stdout);
}

int run_move(const MoveArguments& given, bool (Adoption::*move)()) {
    AdoptionOptions options = options_of(given);
    options.say = print_step;
    const FindErrors find_errors = [&given](const std::filesystem::path& folder) {
        return given.despite_errors ? std::vector<std::string>()
                                    : check_project(folder.string(), {.move = true}).errors();
    };
    if (given.json) return move_with_json(given, std::move(options), find_errors, move);
    const bool changed = (Adoption(std::move(options), find_errors).*move)();
    return changed && given.dry_run ? kDifferences : kNothingToDo;
}

}  // namespace

int adopt_command(int argc, const char* const* argv) {
    CommandLine line(
        "sluice adopt", "Moves a BOINC project to Sluice's programs",
        "Keeps BOINC's programs in PROJECT/before-sluice, puts Sluice's in their place, starts the project and watches "
        "it. If it fails within a minute, or a signal ends it, the old programs come back.\n\n"
        "It has failed if a daemon is away for three seconds, if a log says [CRITICAL] in three seconds over a fifth of "
        "the watch, or if the scheduler serves no longer. A daemon that did not run before counts only if it is the "
        "feeder, the transitioner or the scheduler.\n\n"
        "Where BOINC's bin/stop can't run on this machine, as in a container without Python, nothing of the project may "
        "run. Then all programs are replaced, bin/start and bin/stop, too.\n\n"
        "During a move clients are told to come back in 60 seconds, and nobody can start the project. After a kill, "
        "call the same command again: it finishes the move. Run it as the project's account.");
    MoveArguments given;
    add_shared(line, given);
    line.flag("--despite_errors", given.despite_errors,
              "Also if sluice check finds errors: crontabs, disks and the web server's configuration count, too.");
    line.option("--watch", given.watch, "Seconds that the project is watched after the start (60).", "S");
    if (const auto status = parse_move(line, given, argc, argv)) return *status;
    return run_move(given, &Adoption::adopt);
}

int revert_command(int argc, const char* const* argv) {
    CommandLine line(
        "sluice revert", "Moves a project back to the programs that it had before sluice adopt",
        "Puts back the old programs, and takes out of the database what they do not know. It needs no room on "
        "the disk. Where the database cannot be cleaned the project goes on with Sluice's programs. Where adopt found "
        "that the old bin/stop can't run on this machine, the project is left stopped.\n\n"
        "During a move clients are told to come back in 60 seconds. After a kill, call the same command "
        "again: it finishes the move. Run it as the project's account.");
    MoveArguments given;
    add_shared(line, given);
    if (const auto status = parse_move(line, given, argc, argv)) return *status;
    return run_move(given, &Adoption::revert);
}

}  // namespace sluice
