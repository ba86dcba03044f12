// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/options/daemon_arguments.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "sluice/base/in_one_line.h"
#include "sluice/base/owned_fd.h"

namespace sluice {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostSaid = 4096;
constexpr std::chrono::seconds kPatience{30};  ///< nothing but reading arguments is done

/// What comes through the pipe until its end.
std::string read_said(int pipe) {
    const auto until = Clock::now() + kPatience;
    std::string said;
    std::array<char, 512> part{};
    while (said.size() < kMostSaid) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
        pollfd ready{pipe, POLLIN, 0};
        if (left <= 0 || ::poll(&ready, 1, static_cast<int>(left)) == 0) return said;
        const ssize_t n = ::read(pipe, part.data(), part.size());
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return said;
        said.append(part.data(), static_cast<std::size_t>(n));
    }
    return said;
}

/// Its exit status; it is ended if it goes on.
int end_of(pid_t pid) {
    const auto until = Clock::now() + kPatience;
    int status = 0;
    while (::waitpid(pid, &status, WNOHANG) == 0) {
        if (Clock::now() > until) ::kill(pid, SIGKILL);
        ::poll(nullptr, 0, 5);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace

std::string refusal_of(const std::filesystem::path& program, const std::vector<std::string>& arguments) {
    ::signal(SIGCHLD, SIG_DFL);  // ignored, as a caller may leave it, its exit status would be lost
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return std::string("can't make a pipe: ") + std::strerror(errno);
    OwnedFd mine(ends[0]), its(ends[1]);
    std::vector<std::string> words{program.string()};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t files;
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_adddup2(&files, its.get(), STDERR_FILENO);
    pid_t pid = 0;
    const int error = ::posix_spawn(&pid, program.c_str(), &files, nullptr, argv.data(), environ);
    ::posix_spawn_file_actions_destroy(&files);
    its = OwnedFd();
    if (error != 0) return std::string("can't be run: ") + std::strerror(error);
    const std::string said = read_said(mine.get());
    if (end_of(pid) == 0) return "";
    return said.empty() ? "it does not take its arguments, and says nothing"
                        : in_one_line(said.substr(0, said.find('\n')), 1000);
}

}  // namespace sluice
