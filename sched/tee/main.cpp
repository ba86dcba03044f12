// SPDX-License-Identifier: LGPL-3.0-or-later
// cgi_tee: stands in the place of a scheduler's cgi and becomes that cgi (execv), with the same process id, arguments
// and environment. Where `sluice shadow --tee` listens, the cgi reads its request from a file in memory, and writes its
// reply into another. The shadow gets both for reading. Two small processes wait for the end of the cgi; one passes the
// reply on. If that one is killed, the other goes on at the same byte: both read with one file position, which the
// kernel moves. Nothing here waits for the shadow. Whatever fails: the cgi runs without a copy.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

#include "sched/cgi/relay_protocol.h"
#include "sched/tee/place.h"
#include "sluice/base/write_all.h"

using namespace sluice;

namespace {

/// For those who ask whether a file is the tee.
[[gnu::used]] const char mark[] =
    "Sluice's tee "
    "stands in front of a cgi";

std::string own_folder() {
    char path[4096];
    const ssize_t n = ::readlink("/proc/self/exe", path, sizeof path);
    const std::string self(path, n > 0 ? static_cast<std::size_t>(n) : 0);
    const std::size_t folder = self.rfind('/');
    return folder == std::string::npos ? "." : self.substr(0, folder);
}

bool is_this_program(const std::string& file) {
    struct stat self {
    }, other{};
    return ::stat("/proc/self/exe", &self) != 0 || ::stat(file.c_str(), &other) != 0 ||
           (self.st_dev == other.st_dev && self.st_ino == other.st_ino);
}

/// The second name: the tee was removed while this process started.
[[noreturn]] void become_scheduler(const std::string& folder, char** argv) {
    ::execv((folder + "/" + tee::kBehind).c_str(), argv);
    const int error = errno;
    const std::string back = folder + "/cgi";
    if (!is_this_program(back)) ::execv(back.c_str(), argv);
    write_all(STDERR_FILENO, folder + "/" + tee::kBehind + " can't be run: " + std::strerror(error) +
                                 "; sluice shadow --remove_tee puts the scheduler back, if it is there\n");
    write_all(STDOUT_FILENO, relay::sorry_reply(relay::kLeastSorryDelay));
    ::_exit(1);
}

/// The length of a request that can be copied; 0: this is none.
std::size_t length_to_copy() {
    const char *method = std::getenv("REQUEST_METHOD"), *length = std::getenv("CONTENT_LENGTH");
    if (method == nullptr || length == nullptr || std::strcmp(method, "POST") != 0) return 0;
    char* end = nullptr;
    const unsigned long long bytes = std::strtoull(length, &end, 10);
    if (end == length || *end != '\0' || bytes > tee::kMostBytes) return 0;
    struct stat output {};
    rlimit largest{};
    // sendfile() serves these; and a bound on files would bind the one in memory, too.
    const bool pipe_or_socket =
        ::fstat(STDOUT_FILENO, &output) == 0 && (S_ISSOCK(output.st_mode) || S_ISFIFO(output.st_mode));
    const bool unbound = ::getrlimit(RLIMIT_FSIZE, &largest) == 0 && largest.rlim_cur == RLIM_INFINITY;
    return pipe_or_socket && unbound ? static_cast<std::size_t>(bytes) : 0;
}

/// A connection to the shadow; -1: there is none, or it has no room.
int connect_to(const char* path) {
    const int link = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
    if (link >= 0 && ::connect(link, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0) return link;
    if (link >= 0) ::close(link);
    return -1;
}

/// What standard input holds, until `length` or its end. -1: nothing of it was read.
int read_into_memory(std::size_t length) {
    const int file = ::memfd_create("scheduler request", MFD_CLOEXEC);
    if (file < 0 || ::fallocate(file, 0, 0, static_cast<off_t>(length)) != 0) return -1;  // the room is there
    void* bytes = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
    if (bytes == MAP_FAILED) return -1;
    std::size_t have = 0;
    while (have < length) {
        const ssize_t n = ::read(STDIN_FILENO, static_cast<char*>(bytes) + have, length - have);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        have += static_cast<std::size_t>(n);
    }
    ::munmap(bytes, length);
    // It broke off. Zeros behind it would be another request: as if the cgi had been killed, then.
    if (have < length && ::ftruncate(file, static_cast<off_t>(have)) != 0) ::_exit(1);
    return file;
}

/// The same file, for reading, with a position of its own.
int for_reading(int file) {
    char path[32];
    std::snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    return ::open(path, O_RDONLY | O_CLOEXEC);
}

bool say_hello(int link, std::size_t length, int request, int reply) {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    tee::Hello hello{tee::kVersion, static_cast<std::uint32_t>(length),
                     static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec)};
    iovec text{&hello, sizeof hello};
    alignas(cmsghdr) char space[CMSG_SPACE(2 * sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &text;
    message.msg_iovlen = 1;
    message.msg_control = space;
    message.msg_controllen = sizeof space;
    cmsghdr* files = CMSG_FIRSTHDR(&message);
    files->cmsg_level = SOL_SOCKET;
    files->cmsg_type = SCM_RIGHTS;
    files->cmsg_len = CMSG_LEN(2 * sizeof(int));
    const int both[2] = {request, reply};
    std::memcpy(CMSG_DATA(files), both, sizeof both);
    return ::sendmsg(link, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

/// Until nobody holds the other end any more.
void wait_for_end(int pipe) {
    char byte = 0;
    while (::read(pipe, &byte, 1) < 0 && errno == EINTR) {
    }
}

/// The reply, from where another process may have left off.
void pass_on(int reply) {
    constexpr std::size_t kAtOnce = 1 << 20;
    for (;;) {
        const ssize_t n = ::sendfile(STDOUT_FILENO, reply, nullptr, kAtOnce);
        if (n > 0 || (n < 0 && errno == EINTR)) continue;
        if (n == 0 || errno != EAGAIN) return;
        pollfd room{STDOUT_FILENO, POLLOUT, 0};
        ::poll(&room, 1, -1);
    }
}

struct TwoEnds {
    int read = -1, write = -1;
    TwoEnds() {
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) == 0) read = ends[0], write = ends[1];
    }
};

/// A process that waits for the ends of `first` and then `second` (-1: none), and passes the reply on.
/// `closed`: what it must not hold. -1: there is no such process.
pid_t start_passing(int reply, int first, int second, const int (&closed)[2]) {
    const pid_t child = ::fork();
    if (child != 0) return child;
    for (const int fd : closed) ::close(fd);
    ::close(STDIN_FILENO);
    ::close(STDERR_FILENO);
    // Who ends the cgi ends it; what it has written goes to the web server all the same.
    for (const int signal : {SIGHUP, SIGINT, SIGTERM, SIGPIPE}) ::signal(signal, SIG_IGN);
    ::prctl(PR_SET_NAME, "cgi_tee");
    wait_for_end(first);
    if (second >= 0) wait_for_end(second);
    pass_on(reply);
    ::shutdown(STDOUT_FILENO, SHUT_WR);  // a web server at a socket need not wait for the other one's end
    ::_exit(0);
}

/// From now on what this process writes is a file in memory, of which the shadow has a copy and which is passed on when
/// this process has ended. False: nothing has changed.
bool divert_reply(const char* shadow, int request, std::size_t length) {
    const int link = connect_to(shadow);
    if (link < 0) return false;
    const int reply = ::memfd_create("scheduler reply", MFD_CLOEXEC);
    const int to_pass_on = for_reading(reply), to_show = for_reading(reply), asked = for_reading(request);
    const TwoEnds scheduler, first;
    const bool made = to_pass_on >= 0 && to_show >= 0 && asked >= 0 && scheduler.write >= 0 && first.write >= 0;
    if (!made || !say_hello(link, length, asked, to_show)) return false;
    if (start_passing(to_pass_on, scheduler.read, -1, {scheduler.write, link}) < 0) return false;
    ::close(first.write);  // the first one alone holds it
    static_cast<void>(start_passing(to_pass_on, scheduler.read, first.read, {scheduler.write, link}));  // or one
    ::dup2(reply, STDOUT_FILENO);
    for (const int lives_as_long : {scheduler.write, link}) ::fcntl(lives_as_long, F_SETFD, 0);
    return true;
}

}  // namespace

int main(int, char** argv) {
    const std::string folder = own_folder();
    const std::size_t length = length_to_copy();
    // By way of the open folder: paths of sockets are short, those of projects need not be.
    const int opened = length > 0 ? ::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    if (opened < 0 || ::faccessat(opened, tee::kSocket, W_OK, AT_EACCESS) != 0) become_scheduler(folder, argv);
    const int request = read_into_memory(length);
    if (request >= 0 && ::dup2(request, STDIN_FILENO) >= 0) {
        char path[64];
        std::snprintf(path, sizeof path, "/proc/self/fd/%d/%s", opened, tee::kSocket);
        divert_reply(path, request, length);
    }
    become_scheduler(folder, argv);
}
