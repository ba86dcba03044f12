// SPDX-License-Identifier: LGPL-3.0-or-later
// Where file_upload_handler begins: before the C library is set up (sluice/base/bare_start.h). Where a resident handler
// runs (resident.h), this gives it the request and ends. Where none takes it, nothing has been read, and the program
// starts as any other.
#include <cstddef>

#include "sched/upload/relay_protocol.h"
#include "sluice/base/bare_start.h"

namespace {

using namespace sluice::upload;
using namespace sluice::bare;

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

/// Until the resident handler has closed the connection. What it says before wakes nobody, which costs less.
/// `patience`: for no longer, if it is given.
void wait_for_end(long socket, timespec* patience) {
    pollfd ready{static_cast<int>(socket), 0, 0};
    while (call(SYS_ppoll, address_of(&ready), 1, address_of(patience)) == -EINTR) {
    }
}

bool says_taken(long socket) {
    char said[sizeof kTaken + 1];
    if (call(SYS_recvfrom, socket, address_of(said), sizeof said, MSG_DONTWAIT) != sizeof kTaken) return false;
    for (std::size_t i = 0; i < sizeof kTaken; ++i)
        if (said[i] != kTaken[i]) return false;
    return true;
}

/// The resident handler reads the body. It says so at once, or it is stopped or overwhelmed. False: nobody has read of
/// it, and nobody will.
bool is_taken(long socket) {
    timespec patience{2, 0};
    wait_for_end(socket, &patience);
    if (says_taken(socket)) return true;
    call(SYS_shutdown, socket, SHUT_RD);
    // It may have said it a moment ago. Then its answer does not get here, and the client comes again.
    return says_taken(socket);
}

/// The answer comes when the whole body has: however long that takes the resident handler knows.
void copy_answer(long socket) {
    char answer[kMostAnswer];
    wait_for_end(socket, nullptr);
    const long n = call(SYS_recvfrom, socket, address_of(answer), sizeof answer, MSG_DONTWAIT);
    if (n > 0) {
        write_out(answer, static_cast<std::size_t>(n));
        return;
    }
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

/// Returns where this process is to do the work itself.
extern "C" __attribute__((visibility("hidden"), used)) void sluice_relay_upload(long* stack) {
    const Environment environment(reinterpret_cast<char**>(stack + 1 + stack[0] + 1));
    UploadRequest request;
    if (!environment.by_web_server || is_fastcgi() || !put(request.version, sizeof request.version, kTaken) ||
        !put(request.address, sizeof request.address, environment.address) ||
        !put(request.length, sizeof request.length, environment.length))
        return;
    long socket = -1;
    if (connect_to_resident(project_folder(environment.project), kUploadSocket, SOCK_SEQPACKET, socket) != 0) return;
    if (!send_request(socket, request) || !is_taken(socket)) {
        close_file(socket);
        return;
    }
    copy_answer(socket);
    call(SYS_exit_group, 0);
}

SLUICE_BEGINS_WITH(sluice_relay_upload);
