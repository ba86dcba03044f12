// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/daemon/subcommand.h"

#include <algorithm>
#include <cstddef>
#include <exception>
#include <string>
#include <string_view>

#include "sluice/base/error.h"
#include "sluice/base/text.h"
#include "sluice/daemon/command_line.h"
#include "sluice/daemon/program.h"

namespace sluice {
namespace {

constexpr std::size_t kMostOfAnError = 1000;

/// What stands in front of the first command: --help and the like, or what is wrong.
int answer_alone(const SubcommandProgram& program, int argc, const char* const* argv) {
    CommandLine line(program.name, program.summary, program.description);
    line.failure_status(kCouldNot);
    std::vector<std::string> words;
    line.positional("COMMAND", words, program.name + " COMMAND --help says what it takes.");
    std::string list, names;
    for (const Subcommand& command : program.commands) {
        list += (list.empty() ? "" : "\n\n") + command.name + ": " + command.summary;
        names += (names.empty() ? "" : ", ") + command.name;
    }
    line.section("COMMANDS", list);
    line.section("EXIT STATUS",
                 "Of every command. 0: nothing is to be done. 1: differences or advice. 2: it could not.");
    if (const auto status = line.parse(argc, argv)) return *status;
    return line.fail("give a command: " + names);
}

}  // namespace

int subcommand_main(const SubcommandProgram& program, int argc, const char* const* argv) {
    const std::string_view name = argc > 1 ? argv[1] : "";
    const auto command = std::find_if(program.commands.begin(), program.commands.end(),
                                      [&](const Subcommand& each) { return each.name == name; });
    if (command == program.commands.end()) return answer_alone(program, argc, argv);
    return tool_main({program.name + " " + command->name, kCouldNot}, [&] {
        try {
            return command->run(argc - 1, argv + 1);
        } catch (const std::exception& error) {  // words of the command line are repeated: they may be anything
            const std::string said = error.what();
            const std::string more = " (" + program.name + " " + command->name + " --help tells more)";
            throw Error(in_one_line(said, kMostOfAnError) + (said.size() > kMostOfAnError ? more : ""));
        }
    });
}

}  // namespace sluice
