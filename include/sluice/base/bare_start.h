// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// For programs that the web server starts for each request and that begin before the C library is set up: most of the
// cost of a small program is that set-up. It asks the processor dozens of questions, and on a virtual machine each is
// slow. Nothing here uses the C library, a thread-local variable or an address that a relocation makes: system calls
// alone. A file that includes it does the same, and is compiled so (sluice_begins_bare() in src/base/CMakeLists.txt).
#include <fcntl.h>
#include <linux/time_types.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace sluice::bare {

/// -errno if it fails.
inline long call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0) {
#if defined(__x86_64__)
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
                     : "rcx", "r11", "memory");
    return result;
#else  // where no program begins bare
    const long result = ::syscall(number, a, b, c, d, e);
    return result < 0 ? -errno : result;
#endif
}

inline long address_of(const void* p) { return reinterpret_cast<long>(p); }

inline void close_file(long fd) { call(SYS_close, fd); }

/// What stands behind `name` in "NAME=value", or nullptr.
inline const char* variable_in(const char* entry, const char* name) {
    while (*name != '\0' && *entry == *name) ++entry, ++name;
    return *name == '\0' && *entry == '=' ? entry + 1 : nullptr;
}

/// `text` at `to`, which has room for `size` with the NUL at its end. False: too long.
inline bool put(char* to, std::size_t size, const char* text, char until = '\0') {
    std::size_t n = 0;
    for (; text != nullptr && text[n] != '\0' && text[n] != until; ++n) {
        if (n + 1 >= size) return false;
        to[n] = text[n];
    }
    to[n] = '\0';
    return true;
}

inline std::size_t length_of(const char* text) {
    std::size_t n = 0;
    while (text[n] != '\0') ++n;
    return n;
}

/// libfcgi's rule: its standard input is a socket that listens.
inline bool is_fastcgi() {
    sockaddr_un peer;
    unsigned size = sizeof peer;
    return call(SYS_getpeername, 0, address_of(&peer), address_of(&size)) == -ENOTCONN;
}

/// The folder of the project; nullptr: none. find_project_dir()'s order.
inline const char* project_folder(const char* named) {
    if (named != nullptr && *named != '\0') return named;
    if (call(SYS_faccessat, AT_FDCWD, address_of("config.xml"), 0) == 0) return ".";
    return call(SYS_faccessat, AT_FDCWD, address_of("../config.xml"), 0) == 0 ? ".." : nullptr;
}

inline long open_folder(const char* folder) {
    return call(SYS_openat, AT_FDCWD, address_of(folder), O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/// Behind the text that stands at `to`.
inline bool add(char* to, std::size_t size, const char* text, char until = '\0') {
    const std::size_t n = length_of(to);
    return put(to + n, size - n, text, until);
}

/// Where `socket` of this machine is in `folder`. False: too long.
inline bool put_socket_path(char* to, std::size_t size, const char* folder, const char* socket) {
    utsname machine;
    return call(SYS_uname, address_of(&machine)) == 0 && put(to, size, folder) && add(to, size, "/pid_") &&
           add(to, size, machine.nodename, '.') && add(to, size, "/") && add(to, size, socket);
}

/// "/proc/self/fd/FOLDER": paths of sockets are short, those of projects need not be.
inline void put_short_path(char* to, std::size_t size, long folder) {
    char digits[24];
    int n = sizeof digits;
    digits[--n] = '\0';
    do digits[--n] = static_cast<char>('0' + folder % 10);
    while ((folder /= 10) > 0);
    put(to, size, "/proc/self/fd/");
    add(to, size, digits + n);
}

/// The project's owner, this account or root listens there. Nobody else gets a client's files.
inline bool entitled(long socket, const char* project) {
    ucred peer;
    unsigned size = sizeof peer;
    struct stat folder;
    if (call(SYS_getsockopt, socket, SOL_SOCKET, SO_PEERCRED, address_of(&peer), address_of(&size)) != 0 ||
        call(SYS_newfstatat, AT_FDCWD, address_of(project), address_of(&folder), 0) != 0)
        return false;
    return peer.uid == folder.st_uid || peer.uid == 0 || peer.uid == call(SYS_geteuid);
}

/// A connection to who listens at `name` in the folder of `project`'s sockets, in `socket`. 0, or the errno of why
/// nobody takes this request; EPERM: a stranger listens.
inline int connect_to_resident(const char* project, const char* name, int type, long& socket) {
    if (project == nullptr) return ENOENT;
    sockaddr_un at;
    at.sun_family = AF_UNIX;
    long folder = -1;
    if (!put_socket_path(at.sun_path, sizeof at.sun_path, project, name)) {
        char shorter[40];
        folder = open_folder(project);
        if (folder < 0) return static_cast<int>(-folder);
        put_short_path(shorter, sizeof shorter, folder);
        put_socket_path(at.sun_path, sizeof at.sun_path, shorter, name);
    }
    // Not blocking: who can't even take the connection has no room for the request.
    socket = call(SYS_socket, AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK);
    long error = socket < 0 ? socket : call(SYS_connect, socket, address_of(&at), sizeof at);
    if (error == 0 && !entitled(socket, project)) error = -EPERM;
    if (error != 0 && socket >= 0) close_file(socket);
    if (folder >= 0) close_file(folder);
    return static_cast<int>(-error);
}

inline void wait_for(long fd, short event) {
    pollfd ready{static_cast<int>(fd), event, 0};
    call(SYS_ppoll, address_of(&ready), 1);
}

inline bool write_out(const char* text, std::size_t size) {
    while (size > 0) {
        const long n = call(SYS_write, 1, address_of(text), static_cast<long>(size));
        if (n == -EAGAIN) wait_for(1, POLLOUT);
        if (n == -EINTR || n == -EAGAIN) continue;
        if (n <= 0) return false;  // the client went away
        text += n;
        size -= static_cast<std::size_t>(n);
    }
    return true;
}

}  // namespace sluice::bare

// The program begins at sluice_bare_start. `function` gets the stack as the kernel leaves it: the number of arguments,
// they, NULL, the environment, NULL. When it returns, the C library starts. The stack, and the register that the
// library's start looks at, are as they were.
#if defined(__x86_64__)
#define SLUICE_BEGINS_WITH(function)                                                                              \
    __asm__(                                                                                                      \
        ".text\n.globl sluice_bare_start\n.hidden sluice_bare_start\n.type sluice_bare_start,@function\n"         \
        "sluice_bare_start:\n  endbr64\n  xor %ebp, %ebp\n  mov %rsp, %rbx\n  mov %rdx, %r12\n  mov %rsp, %rdi\n" \
        "  and $-16, %rsp\n  call " #function "\n  mov %rbx, %rsp\n  mov %r12, %rdx\n  jmp _start\n")
#endif
