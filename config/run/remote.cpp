// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/run/remote.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "sluice/base/error.h"
#include "sluice/base/shell_text.h"

namespace sluice {
namespace {

/// Exit status; 127 if it can't be run.
int run_and_wait(std::vector<std::string> words) {
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
        ::execvp(argv[0], argv.data());
        ::_exit(127);
    }
    if (child < 0) throw Error(std::string("Can't start a process: ") + std::strerror(errno));
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

bool run_on_other_hosts(const RunContext& context, const std::string& ssh, const RemoteCall& call) {
    bool all_fine = true;
    for (const std::string& host : context.jobs.other_hosts) {
        std::string command = "cd " + shell_quoted((context.folders.project / "bin").string()) + " && ./" + call.name;
        for (const std::string& argument : call.arguments) command += " " + shell_quoted(argument);
        if (context.options.verbose) {
            command += " -v";
            fmt::print("On {}: {}\n", host, command);
            std::fflush(stdout);
        }
        // A host that began with a dash would be an option of ssh.
        const int status = host.starts_with('-') ? 255 : run_and_wait({ssh, host, command});
        if (status == 0) continue;
        all_fine = false;
        fmt::print(stderr, "'{} {} {}' failed with status {}\n", ssh, host, command, status);
    }
    return all_fine;
}

}  // namespace sluice
