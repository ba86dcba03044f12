// SPDX-License-Identifier: LGPL-3.0-or-later
// Where file_upload_handler begins: before the C library is set up. Most of what a small upload costs is that set-up:
// it asks the processor dozens of questions, and on a virtual machine each is slow. So where a resident handler runs
// (resident.h), this gives it the request and ends. Where none takes it, nothing has been read, and the program starts
// as any other.
//
// Nothing here may use the C library, a thread-local variable or an address that a relocation makes: system calls
// alone. CMakeLists.txt compiles this file so, and makes relay_start the program's entry.
#include <fcntl.h>
#include <linux/time_types.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/utsname.h>

#include <cerrno>
#include <cstddef>

#include "sched/upload/relay_protocol.h"

namespace {

using namespace sluice::upload;

/// -errno if it fails.
long call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0) {
#if defined(__x86_64__)
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
                     : "rcx", "r11", "memory");
    return result;
#else
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
    return x0;
#endif
}

long address_of(const void* p) { return reinterpret_cast<long>(p); }

void close_file(long fd) { call(SYS_close, fd); }

/// What stands behind `name` in "NAME=value", or nullptr.
const char* variable_in(const char* entry, const char* name) {
    while (*name != '\0' && *entry == *name) ++entry, ++name;
    return *name == '\0' && *entry == '=' ? entry + 1 : nullptr;
}

struct Environment {
    const char *project = nullptr, *address = nullptr, *length = nullptr;
    bool by_web_server = false;

    explicit Environment(char* const* entry) {
        for (; *entry != nullptr; ++entry) {
            if (const char* v = variable_in(*entry, "BOINC_PROJECT_DIR")) project = v;
            if (const char* v = variable_in(*entry, "REMOTE_ADDR")) address = v;
            if (const char* v = variable_in(*entry, "CONTENT_LENGTH")) length = v;
            by_web_server =
                by_web_server || variable_in(*entry, "GATEWAY_INTERFACE") || variable_in(*entry, "REQUEST_METHOD");
        }
    }
};

/// `text` at `to`, which has room for `size` with the NUL at its end. False: too long.
bool put(char* to, std::size_t size, const char* text, char until = '\0') {
    std::size_t n = 0;
    for (; text != nullptr && text[n] != '\0' && text[n] != until; ++n) {
        if (n + 1 >= size) return false;
        to[n] = text[n];
    }
    to[n] = '\0';
    return true;
}

std::size_t length_of(const char* text) {
    std::size_t n = 0;
    while (text[n] != '\0') ++n;
    return n;
}

/// libfcgi's rule: its standard input is a socket that listens.
bool is_fastcgi() {
    sockaddr_un peer;
    unsigned size = sizeof peer;
    return call(SYS_getpeername, 0, address_of(&peer), address_of(&size)) == -ENOTCONN;
}

/// The folder of the project, open; negative: none. find_project_dir()'s order.
long open_project(const char* named) {
    constexpr long kFlags = O_PATH | O_DIRECTORY | O_CLOEXEC;
    const bool given = named != nullptr && *named != '\0';
    const char* folder = given ? named : ".";
    for (int turn = 0; turn < 2; ++turn) {
        const long fd = call(SYS_openat, AT_FDCWD, address_of(folder), kFlags);
        if (fd < 0) return fd;
        if (call(SYS_faccessat, fd, address_of("config.xml"), 0) == 0) return fd;
        close_file(fd);
        if (given) break;
        folder = "..";
    }
    return -ENOENT;
}

/// A folder of `project` that has the sockets of this machine; negative: there is none.
long open_socket_folder(long project) {
    utsname machine;
    char name[sizeof machine.nodename + 4] = {'p', 'i', 'd', '_'};
    if (call(SYS_uname, address_of(&machine)) != 0 || !put(name + 4, sizeof name - 4, machine.nodename, '.'))
        return -ENOENT;
    return call(SYS_openat, project, address_of(name), O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/// "/proc/self/fd/FOLDER/upload.sock": paths of sockets are short, those of projects need not be.
void put_socket_path(char* to, std::size_t size, long folder) {
    char digits[24];
    int n = sizeof digits;
    digits[--n] = '\0';
    do digits[--n] = static_cast<char>('0' + folder % 10);
    while ((folder /= 10) > 0);
    put(to, size, "/proc/self/fd/");
    put(to + length_of(to), size - length_of(to), digits + n);
    put(to + length_of(to), size - length_of(to), "/");
    put(to + length_of(to), size - length_of(to), kUploadSocket);
}

/// The project's owner, this account or root listens there. Nobody else gets a client's files.
bool entitled(long socket, long project) {
    ucred peer;
    unsigned size = sizeof peer;
    struct stat folder;
#if defined(__x86_64__)
    constexpr long kStat = SYS_newfstatat;
#else
    constexpr long kStat = __NR_newfstatat;
#endif
    if (call(SYS_getsockopt, socket, SOL_SOCKET, SO_PEERCRED, address_of(&peer), address_of(&size)) != 0 ||
        call(kStat, project, address_of(""), address_of(&folder), AT_EMPTY_PATH) != 0)
        return false;
    return peer.uid == folder.st_uid || peer.uid == 0 || peer.uid == call(SYS_geteuid);
}

/// The resident handler has said that it serves this request. At once, or it is stopped or overwhelmed.
bool is_welcome(long socket) {
    pollfd ready{static_cast<int>(socket), POLLIN, 0};
    timespec patience{2, 0};
    char hello[sizeof kHello + 1];
    if (call(SYS_ppoll, address_of(&ready), 1, address_of(&patience)) != 1 ||
        call(SYS_recvfrom, socket, address_of(hello), sizeof hello, MSG_DONTWAIT) != sizeof kHello)
        return false;
    for (std::size_t i = 0; i < sizeof kHello; ++i)
        if (hello[i] != kHello[i]) return false;
    return true;
}

/// A connection to a handler that waits for this request; negative: nobody takes it.
long find_resident(const char* named_project) {
    const long project = open_project(named_project);
    if (project < 0) return project;
    const long folder = open_socket_folder(project);
    long socket = folder < 0 ? folder : call(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (socket >= 0) {
        sockaddr_un at;
        at.sun_family = AF_UNIX;
        put_socket_path(at.sun_path, sizeof at.sun_path, folder);
        if (call(SYS_connect, socket, address_of(&at), sizeof at) != 0 || !entitled(socket, project) ||
            !is_welcome(socket)) {
            close_file(socket);
            socket = -ECONNREFUSED;
        }
    }
    if (folder >= 0) close_file(folder);
    close_file(project);
    return socket;
}

/// With the standard input. False: nothing was sent.
bool send_request(long socket, UploadRequest& request) {
    iovec part{&request, sizeof request};
    alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))];
    auto* rights = reinterpret_cast<cmsghdr*>(room);
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    *reinterpret_cast<int*>(CMSG_DATA(rights)) = 0;
    msghdr message;
    message.msg_name = nullptr;
    message.msg_namelen = 0;
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = room;
    message.msg_controllen = sizeof room;
    message.msg_flags = 0;
    return call(SYS_sendmsg, socket, address_of(&message), MSG_NOSIGNAL) == static_cast<long>(sizeof request);
}

void wait_for(long fd, short event) {
    pollfd ready{static_cast<int>(fd), event, 0};
    call(SYS_ppoll, address_of(&ready), 1);
}

void write_out(const char* text, std::size_t size) {
    while (size > 0) {
        const long n = call(SYS_write, 1, address_of(text), static_cast<long>(size));
        if (n == -EAGAIN) wait_for(1, POLLOUT);
        if (n == -EINTR || n == -EAGAIN) continue;
        if (n <= 0) return;  // a client that went away is nobody's concern
        text += n;
        size -= static_cast<std::size_t>(n);
    }
}

/// A web server that can't deliver the body may not deliver the answer either. Who sends nothing for a minute is gone.
void drain() {
    char block[8192];
    for (;;) {
        pollfd ready{0, POLLIN, 0};
        timespec patience{60, 0};
        const long polled = call(SYS_ppoll, address_of(&ready), 1, address_of(&patience));
        if (polled == -EINTR) continue;
        if (polled != 1) return;
        const long n = call(SYS_read, 0, address_of(block), sizeof block);
        if (n <= 0 && n != -EINTR && n != -EAGAIN) return;
    }
}

/// The answer comes when the whole body has: however long that takes the resident handler knows.
void copy_answer(long socket) {
    char answer[kMostAnswer];
    long n = -EAGAIN;
    while (n == -EAGAIN || n == -EINTR) {
        wait_for(socket, POLLIN);
        n = call(SYS_recvfrom, socket, address_of(answer), sizeof answer, MSG_DONTWAIT);
    }
    if (n > 0) return write_out(answer, static_cast<std::size_t>(n));
    static const char kLost[] =
        "Content-type: text/plain\n\n<data_server_reply>\n    <status>1</status>\n"
        "    <message>server error</message>\n</data_server_reply>\n";
    static const char kWhy[] =
        "file_upload_handler: the resident handler ended amid a request; the client comes again\n";
    drain();
    call(SYS_write, 2, address_of(kWhy), sizeof kWhy - 1);
    write_out(kLost, sizeof kLost - 1);
}

}  // namespace

/// `stack`: as the kernel leaves it: the number of arguments, they, NULL, the environment, NULL. Returns where this
/// process is to do the work itself.
extern "C" __attribute__((visibility("hidden"), used)) void sluice_relay_upload(long* stack) {
    const Environment environment(reinterpret_cast<char**>(stack + 1 + stack[0] + 1));
    UploadRequest request;
    if (!environment.by_web_server || is_fastcgi() ||
        !put(request.address, sizeof request.address, environment.address) ||
        !put(request.length, sizeof request.length, environment.length))
        return;
    const long socket = find_resident(environment.project);
    if (socket < 0) return;
    if (!send_request(socket, request)) {
        close_file(socket);
        return;
    }
    copy_answer(socket);
    call(SYS_exit_group, 0);
}

// The stack, and the register that the C library's start looks at, are as they were when it begins.
#if defined(__x86_64__)
__asm__(
    ".text\n.globl sluice_relay_start\n.hidden sluice_relay_start\n.type sluice_relay_start,@function\n"
    "sluice_relay_start:\n  endbr64\n  xor %ebp, %ebp\n  mov %rsp, %rbx\n  mov %rdx, %r12\n  mov %rsp, %rdi\n"
    "  and $-16, %rsp\n  call sluice_relay_upload\n  mov %rbx, %rsp\n  mov %r12, %rdx\n  jmp _start\n");
#else
__asm__(
    ".text\n.globl sluice_relay_start\n.hidden sluice_relay_start\n.type sluice_relay_start,%function\n"
    "sluice_relay_start:\n  mov x29, #0\n  mov x30, #0\n  mov x20, x0\n  mov x0, sp\n  bl sluice_relay_upload\n"
    "  mov x0, x20\n  b _start\n");
#endif
