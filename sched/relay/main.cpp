// SPDX-License-Identifier: LGPL-3.0-or-later
// cgi: what a web server starts for each request. It hands the request to the resident scheduler (bin/scheduler) over a
// Unix socket. That saves a process's start and a connection to the database. Where none answers, or when it is started
// as a FastCGI program or with options, it becomes the scheduler itself. Needs no configuration, key or password.
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "sched/cgi/relay_protocol.h"
#include "sched/relay/bare_relay.h"
#include "sched/relay/web_start.h"
#include "sluice/base/write_all.h"

using namespace sluice;
using namespace sluice::relay;

namespace {

constexpr const char* kSection = ".scheduler";  // as in CMakeLists.txt

template <class T>
bool read_at(int file, std::size_t offset, T* to, std::size_t n) {
    const auto bytes = static_cast<ssize_t>(n * sizeof(T));
    return ::pread(file, to, static_cast<std::size_t>(bytes), static_cast<off_t>(offset)) == bytes;
}

/// Size 0: it is not there.
ElfW(Shdr) find_section(int file) {
    ElfW(Ehdr) header{};
    if (!read_at(file, 0, &header, 1) || header.e_shentsize != sizeof(ElfW(Shdr))) return {};
    std::vector<ElfW(Shdr)> sections(header.e_shnum);
    if (!read_at(file, header.e_shoff, sections.data(), sections.size()) || header.e_shstrndx >= sections.size())
        return {};
    std::string names(sections[header.e_shstrndx].sh_size, '\0');
    if (!read_at(file, sections[header.e_shstrndx].sh_offset, names.data(), names.size())) return {};
    for (const ElfW(Shdr) & section : sections)
        if (section.sh_name < names.size() && std::strcmp(&names[section.sh_name], kSection) == 0) return section;
    return {};
}

/// Replaces this process by the scheduler that the relay carries in a section of its own file, for a project where
/// somebody copied cgi-bin/cgi alone. Comes back, with errno, if that can't be.
void exec_embedded_scheduler(char** argv, char** environment) {
    const int self = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (self < 0) return;
    const ElfW(Shdr) section = find_section(self);
    if (section.sh_size == 0) {
        errno = ENOENT;
        return;
    }
    const int program = ::memfd_create("scheduler", MFD_CLOEXEC);
    auto at = static_cast<off_t>(section.sh_offset);
    for (std::size_t left = section.sh_size; left > 0;) {
        const ssize_t n = ::sendfile(program, self, &at, left);
        if (n <= 0) return;
        left -= static_cast<std::size_t>(n);
    }
    ::fexecve(program, argv, environment);
}

/// Seconds. Without random numbers all clients are told the least.
int sorry_delay() {
    unsigned number = 0;
    if (::getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number) number = 0;
    return kLeastSorryDelay + static_cast<int>(number % (kMostSorryDelay - kLeastSorryDelay + 1));
}

[[noreturn]] void give_up(const std::string& why) {
    write_all(STDERR_FILENO, "cgi: " + why + "; the client is told to try again later\n");
    write_all(STDOUT_FILENO, sorry_reply(sorry_delay()));
    ::_exit(0);
}

std::string own_prefix() {
    char path[4096];
    const ssize_t n = ::readlink("/proc/self/exe", path, sizeof path);
    const std::string self(path, n > 0 ? static_cast<std::size_t>(n) : 0);
    const std::size_t folder = self.rfind('/');
    return folder == std::string::npos ? "." : self.substr(0, folder) + "/..";
}

[[noreturn]] void become_scheduler(const std::string& project, char** argv) {
    char name[] = "cgi";
    argv[0] = name;
    for (const std::string& path : {own_prefix() + "/bin/scheduler", project + "/bin/scheduler"})
        ::execv(path.c_str(), argv);
    exec_embedded_scheduler(argv, environ);
    give_up(std::string("no resident scheduler answers (bin/start starts it), and bin/scheduler can't be run: ") +
            std::strerror(errno));
}

/// With what was read of the request as its standard input; of one that broke off that is less than its length.
[[noreturn]] void become_scheduler(const std::string& project, char** argv, std::string_view body, bool broke_off) {
    const int file = ::memfd_create("sluice request", MFD_CLOEXEC);
    write_all(file, body);
    ::lseek(file, 0, SEEK_SET);
    if (file < 0 || ::dup2(file, STDIN_FILENO) < 0) give_up("no room for the request");
    if (!broke_off) ::setenv("CONTENT_LENGTH", std::to_string(body.size()).c_str(), 1);
    become_scheduler(project, argv);
}

/// The whole request is read first: a web server whose program ends before may reset the connection, and the reply is
/// lost.
[[noreturn]] void drain_and_give_up(const std::string& why) {
    if (!relayed_request.ended) {
        StdinBody body(relayed_request.taken);
        while (!body.ended()) body.next();
    }
    give_up(why);
}

/// By this program alone, whatever else there is: half of the project may be another server's.
[[noreturn]] void tell_of_move(const std::string& project) {
    for (StdinBody body; !body.ended();) body.next();
    write_all(STDERR_FILENO, "cgi: " + project + "/" + kMoving +
                                 " is there: sluice adopt or revert runs. If it was ended, repeat that command\n");
    write_all(STDOUT_FILENO, early_reply(kMaintenance, kMovingDelay));
    ::_exit(0);
}

/// What is left to do for a request that the resident scheduler has not answered.
[[noreturn]] void go_on(const std::string& project, char** argv) {
    const RelayedRequest& request = relayed_request;
    const bool only = ::access((project + "/" + kRelayOnly).c_str(), F_OK) == 0;
    const std::string_view body(request.body, std::min(static_cast<std::size_t>(request.taken), kKept));
    switch (request.came) {
        case Came::kRefused:
            if (!only && request.ended && body.size() == static_cast<std::size_t>(request.taken))
                become_scheduler(project, argv, body, request.broke_off);
            drain_and_give_up("the resident scheduler is ending or has no room");
        case Came::kLost: drain_and_give_up("the resident scheduler gave no reply");
        case Came::kNotTried:
        case Came::kNobody: break;
    }
    if (only)
        drain_and_give_up("no resident scheduler answers (" + std::string(std::strerror(request.error)) +
                          "; sluice_options --check " + project + " says more), and " + project + "/" + kRelayOnly +
                          " forbids another");
    // Without a socket nobody wants one.
    if (request.error != ENOENT) ::setenv(kUnreached, std::to_string(request.error).c_str(), 1);
    become_scheduler(project, argv);
}

}  // namespace

int main(int argc, char** argv) {
    ::signal(SIGPIPE, SIG_IGN);
    const std::string project = find_project();
    const bool asked = by_web_server() || argc == 1;
    if (!asked || project.empty() || is_fastcgi()) become_scheduler(project, argv);
    if (::access((project + "/" + kMoving).c_str(), F_OK) == 0 && relayed_request.came == Came::kNotTried)
        tell_of_move(project);
    if (relayed_request.came == Came::kNotTried) relay_request(argc, environ);  // it did not begin with it
    go_on(project, argv);
}
