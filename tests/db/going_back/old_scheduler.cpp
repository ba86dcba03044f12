// SPDX-License-Identifier: LGPL-3.0-or-later
// Stands in cgi-bin/cgi for a scheduler that breaks off where the project is stopped, or its feeder has not filled the
// array. ../old_scheduler holds the command that answers otherwise. A program and no script: of a script that is
// replaced the shell may read the new file.
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

namespace {

int cut() {
    std::cout << "Content-type: text/plain\n\n<scheduler_reply>\n<project_is_down/>\n<requ";
    return 0;
}

}  // namespace

int main() {
    if (::access("../stop_sched", F_OK) == 0) return cut();
    std::ifstream file("../old_scheduler");
    const std::string command{std::istreambuf_iterator<char>(file), {}};
    FILE* const pipe = ::popen(command.c_str(), "r");  // it reads the request
    if (pipe == nullptr) return 1;
    std::string answer;
    char block[4096];
    for (std::size_t n = 0; (n = std::fread(block, 1, sizeof block, pipe)) > 0;) answer.append(block, n);
    ::pclose(pipe);
    if (answer.find("<project_is_down/>") != std::string::npos) return cut();
    std::cout << answer;
    return 0;
}
