// SPDX-License-Identifier: LGPL-3.0-or-later
// run_in_ops: runs a script of the web site in html/ops, where such scripts expect to be. Upstream's program of that
// name.
#include <unistd.h>

#include <cerrno>

#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/base/project.h"
#include "sluice/base/text.h"
#include "sluice/base/users.h"
#include "sluice/daemon/program.h"

namespace sluice {
namespace {

/// Becomes the script. A first word with blanks is a command line, as config.xml files have it in quotes.
int run_script(const std::vector<std::string>& typed) {
    const fs::path project = find_project_dir();
    refuse_root_in_project_of_another("bin/run_in_ops", project);
    std::vector<std::string> words;
    for (const auto word : split(typed[0], ' '))
        if (!word.empty()) words.emplace_back(word);
    if (words.empty()) throw ConfigError("give the name of a script in html/ops");
    words.insert(words.end(), typed.begin() + 1, typed.end());
    const fs::path ops = project / "html/ops";
    if (::chdir(ops.c_str()) != 0)
        throw FileError(ops.string() + ": " + file_problem(errno, ops) + "; the web site of BOINC brings this folder");
    words[0] = "./" + words[0];
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    ::execv(argv[0], argv.data());
    const int error = errno;
    throw FileError("can't run " + (ops / words[0]).lexically_normal().string() + ": " +
                    file_problem(error, ops / words[0]));
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    std::vector<std::string> ignored;
    CommandLine line(
        "run_in_ops", "run a script in html/ops",
        "Goes to the project's html/ops, and becomes the script ./NAME with the other arguments. No shell looks at "
        "them. Tasks of config.xml run scripts of BOINC's web site so.");
    line.section("EXAMPLES", "<task><cmd>run_in_ops ./update_forum_activities.php</cmd><period>1 hour</period></task>");
    line.section("EXIT STATUS", "The script's. 1: it could not be started.");
    line.positional("NAME ARGUMENTS", ignored, "a script in html/ops, and what it is to get");
    return tool_main({"run_in_ops"}, [&] {
        log_open({});
        // Options behind the name are the script's.
        if (const auto status = line.parse(argc > 1 && argv[1][0] == '-' ? argc : 1, argv)) return *status;
        const std::vector<std::string> typed(argv + 1, argv + argc);
        if (typed.empty()) return line.fail("give the name of a script in html/ops");
        return run_script(typed);
    });
}
