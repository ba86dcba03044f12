// SPDX-License-Identifier: LGPL-3.0-or-later
// Where cgi begins: before the C library is set up (sluice/base/bare_start.h). It hands the request to the resident
// scheduler, and ends. What can't be done so is left to main().
#include "sched/relay/bare_relay.h"

#include <sys/time.h>
#include <time.h>

#include "sched/cgi/fastcgi_types.h"
#include "sched/cgi/relay_protocol.h"
#include "sluice/base/bare_start.h"

namespace sluice::relay {

constinit RelayedRequest relayed_request{};

namespace {

using namespace sluice::bare;
using namespace sluice::fastcgi;

constexpr std::size_t kMostParams = 32768, kMostValue = 4000, kHeader = 8, kMostContent = 32768;
constexpr long kIgnoreSignal = 1, kPipeSignal = 13;  // SIG_IGN and SIGPIPE: signal.h belongs to the C library

/// A resident program answers the first question at once; who does not is stopped or overwhelmed.
constexpr long kForAnAnswer = 2;  // s
/// Longer than the resident program waits for a worker and a worker for the database.
constexpr long kForAReply = 300;  // s

/// Bytes that are sent together: the values of a request, cut, have room.
struct Text {
    char bytes[kMostParams];
    std::size_t size = 0;
    Text() {}  // NOLINT: `bytes` are not cleared

    void add(const char* text, std::size_t n) {
        for (std::size_t i = 0; i < n && size < sizeof bytes; ++i) bytes[size++] = text[i];
    }
    void add_byte(std::size_t value) {
        const char byte = static_cast<char>(value);
        add(&byte, 1);
    }
    void add_length(std::size_t n) {
        if (n >= 128)
            for (const int shift : {24, 16, 8}) add_byte(n >> shift | (shift == 24 ? 0x80 : 0));
        add_byte(n);
    }
    void add_pair(const char* name, const char* value) {
        const std::size_t n = length_of(name), whole = length_of(value), m = whole < kMostValue ? whole : kMostValue;
        add_length(n), add_length(m), add(name, n), add(value, m);
    }
    void add_header(unsigned char type, std::size_t content) {
        add_byte(1), add_byte(type), add_byte(0), add_byte(type == kGetValues ? 0 : 1);
        add_byte(content >> 8), add_byte(content), add_byte(0), add_byte(0);
    }
};

/// GET_VALUES, and what its result holds.
void put_question(Text& question, Text& wanted) {
    wanted.add_pair(kName, kVersion);
    question.add_header(kGetValues, wanted.size);
    question.add(wanted.bytes, wanted.size);
}

/// All that comes before the body.
void put_variables(Text& out, char* const* environment) {
    Text params;
    for (const char* name : kVariables)
        for (char* const* entry = environment; *entry != nullptr; ++entry)
            if (const char* value = variable_in(*entry, name)) {
                params.add_pair(name, value);
                break;
            }
    constexpr char kBegin[kHeader] = {0, 1};  // role: responder; the connection is not kept
    out.add_header(kBeginRequest, sizeof kBegin);
    out.add(kBegin, sizeof kBegin);
    if (params.size > 0) out.add_header(kParams, params.size);
    out.add(params.bytes, params.size);
    out.add_header(kParams, 0);
}

void wait_at_most(long socket, long seconds) {
    const timeval limit{seconds, 0};
    call(SYS_setsockopt, socket, SOL_SOCKET, SO_RCVTIMEO, address_of(&limit), sizeof limit);
    call(SYS_setsockopt, socket, SOL_SOCKET, SO_SNDTIMEO, address_of(&limit), sizeof limit);
}

/// Up to three pieces. False: the other end wants no more, or takes none.
bool send_all(long socket, iovec* parts, std::size_t n) {
    while (n > 0) {
        if (parts->iov_len == 0) {
            ++parts, --n;
            continue;
        }
        msghdr message;
        message.msg_name = nullptr;
        message.msg_namelen = 0;
        message.msg_iov = parts;
        message.msg_iovlen = n;
        message.msg_control = nullptr;
        message.msg_controllen = 0;
        message.msg_flags = 0;
        long sent = call(SYS_sendmsg, socket, address_of(&message), MSG_NOSIGNAL);
        if (sent == -EINTR) continue;
        if (sent <= 0) return false;
        for (; n > 0 && sent >= static_cast<long>(parts->iov_len); ++parts, --n)
            sent -= static_cast<long>(parts->iov_len);
        if (n > 0) {
            parts->iov_base = static_cast<char*>(parts->iov_base) + sent;
            parts->iov_len -= static_cast<std::size_t>(sent);
        }
    }
    return true;
}

/// What comes from the resident scheduler, record by record.
class Replies {
  public:
    explicit Replies(long socket) : socket_(socket) {}
    /// Reads on. 0: something came. Else the connection has ended, made no sense or took too long: an errno.
    int read() {
        char bytes[32 * 1024];
        long n = -EINTR;
        while (n == -EINTR) n = call(SYS_recvfrom, socket_, address_of(bytes), sizeof bytes, 0);
        if (n == -EAGAIN) return ETIMEDOUT;
        if (n <= 0) return ECONNRESET;
        return feed(bytes, static_cast<std::size_t>(n)) ? 0 : ECONNRESET;
    }
    bool is_whole() const { return end_size_ >= sizeof end_; }
    bool is_refusal() const { return is_whole() && end_[4] == kOverloaded && !began; }
    bool began = false;  ///< something stands on standard output
    char values[64];     ///< of GET_VALUES_RESULT
    std::size_t values_size = 0;

  private:
    bool feed(const char* bytes, std::size_t n) {
        while (n > 0) {
            if (header_size_ < kHeader) {
                header_[header_size_++] = static_cast<unsigned char>(*bytes++), --n;
                if (header_size_ < kHeader) continue;
                content_ = static_cast<std::size_t>(header_[4]) << 8 | header_[5];
                padding_ = header_[6];
                if (header_[0] != 1) return false;
            }
            std::size_t piece = content_ < n ? content_ : n;
            if (!take(bytes, piece)) return false;
            bytes += piece, n -= piece, content_ -= piece;
            if (content_ > 0) return true;
            piece = padding_ < n ? padding_ : n;
            bytes += piece, n -= piece, padding_ -= piece;
            if (padding_ > 0) return true;
            header_size_ = 0;
        }
        return true;
    }
    bool take(const char* bytes, std::size_t n) {
        if (n == 0) return true;
        if (header_[1] == kStdout) {
            began = true;
            return write_out(bytes, n);  // false: the client went away
        }
        for (std::size_t i = 0; i < n; ++i) {
            if (header_[1] == kGetValuesResult) {
                if (values_size == sizeof values) return false;
                values[values_size++] = bytes[i];
            } else if (header_[1] == kEndRequest && end_size_ < sizeof end_) {
                end_[end_size_++] = bytes[i];
            }
        }
        return true;
    }
    long socket_;
    unsigned char header_[kHeader];
    std::size_t header_size_ = 0, content_ = 0, padding_ = 0;
    char end_[8];
    std::size_t end_size_ = 0;
};

/// 0: it serves this request.
int ask(long socket, Replies& replies) {
    Text question, wanted;
    put_question(question, wanted);
    iovec part{question.bytes, question.size};
    if (!send_all(socket, &part, 1)) return ECONNRESET;
    while (replies.values_size < wanted.size)
        if (const int error = replies.read()) return error;
    bool same = replies.values_size == wanted.size;
    for (std::size_t i = 0; same && i < wanted.size; ++i) same = replies.values[i] == wanted.bytes[i];
    return same ? 0 : EPROTO;
}

long milliseconds() {
    __kernel_timespec now;
    call(SYS_clock_gettime, CLOCK_MONOTONIC, address_of(&now));
    return static_cast<long>(now.tv_sec) * 1000 + static_cast<long>(now.tv_nsec) / 1000000;
}

/// The body, as StdinBody (web_start.h) has it, with sched/cgi/pace.h's default.
class Body {
  public:
    explicit Body(char* const* environment) {
        for (; *environment != nullptr; ++environment)
            if (const char* text = variable_in(*environment, "CONTENT_LENGTH"))
                for (length_ = 0; *text >= '0' && *text <= '9' && length_ < (1L << 50); ++text)
                    length_ = length_ * 10 + (*text - '0');
    }
    /// Bytes that came; 0: it has ended.
    std::size_t read(char* to, std::size_t size) {
        RelayedRequest& r = relayed_request;
        while (!r.ended) {
            // A server need not close the input after the body: beyond its length only what is there already is read.
            const bool complete = length_ > 0 && r.taken >= length_;
            const long most = r.taken < 1770000 ? 30000 + r.taken : 1800000;  // ms: 30 s, and 1 s for 1,000 bytes
            const long left = complete ? 0 : start_ + most - milliseconds();
            const __kernel_timespec wait{left > 0 ? left / 1000 : 0, left > 0 ? left % 1000 * 1000000 : 0};
            pollfd ready{0, POLLIN, 0};
            const long polled = call(SYS_ppoll, address_of(&ready), 1, address_of(&wait));
            if (polled == -EINTR) continue;
            const long n = polled == 1 ? call(SYS_read, 0, address_of(to), static_cast<long>(size)) : 0;
            if (n == -EINTR) continue;
            r.ended = n <= 0;
            r.broke_off = r.ended && r.taken < length_;
            if (r.ended) break;
            r.taken += n;
            return static_cast<std::size_t>(n);
        }
        return 0;
    }

  private:
    long length_ = 0, start_ = milliseconds();
};

/// `last`: nothing follows it. `before`: what is sent before it.
bool send_body(long socket, Text* before, char* text, std::size_t size, bool last) {
    bool sent = true;
    std::size_t at = 0;
    do {
        const std::size_t n = size - at < kMostContent ? size - at : kMostContent;
        Text header, end;
        if (n > 0) header.add_header(kStdin, n);
        if (last && at + n == size) end.add_header(kStdin, 0);
        iovec parts[4] = {{before != nullptr ? before->bytes : nullptr, before != nullptr ? before->size : 0},
                          {header.bytes, header.size},
                          {text + at, n},
                          {end.bytes, end.size}};
        sent = send_all(socket, parts, 4);
        before = nullptr;
        at += n;
    } while (sent && at < size);
    return sent;
}

/// The whole of a short request is read before it is sent; of a long one this much.
void hand_over(long socket, Replies& replies, Text& variables, char* const* environment) {
    RelayedRequest& r = relayed_request;
    Body body(environment);
    std::size_t kept = 0;
    while (!r.ended && kept < kKept) kept += body.read(r.body + kept, kKept - kept);
    bool sent = send_body(socket, &variables, r.body, kept, r.ended);
    while (sent && !r.ended) {
        char block[kMostContent];
        const std::size_t n = body.read(block, sizeof block);
        sent = send_body(socket, nullptr, block, n, r.ended);
    }
    while (!replies.is_whole() && replies.read() == 0) {
    }
    if (replies.is_refusal())
        r.came = Came::kRefused;
    else if (replies.began || replies.is_whole())
        call(SYS_exit_group, 0);
    else
        r.came = Came::kLost;
}

/// `sluice adopt` or `revert` is at work: main() says so.
bool is_moving(const char* project) {
    const long folder = project != nullptr ? open_folder(project) : -1;
    if (folder < 0) return false;
    const bool moving = call(SYS_faccessat, folder, address_of(kMoving), 0) == 0;
    close_file(folder);
    return moving;
}

}  // namespace

void relay_request(int argc, char** environment) {
    RelayedRequest& r = relayed_request;
    const char* named = nullptr;
    bool asked = argc == 1;
    for (char** entry = environment; *entry != nullptr; ++entry) {
        if (const char* v = variable_in(*entry, "BOINC_PROJECT_DIR")) named = v;
        asked = asked || variable_in(*entry, "GATEWAY_INTERFACE") || variable_in(*entry, "REQUEST_METHOD");
    }
    Text variables;
    if (!asked || is_fastcgi()) return;
    const char* project = project_folder(named);
    if (is_moving(project)) return;
    put_variables(variables, environment);
    const long ignore[4] = {kIgnoreSignal, 0, 0, 0};  // a client that went away is no reason to die
    call(SYS_rt_sigaction, kPipeSignal, address_of(ignore), 0, 8);
    long socket = -1;
    r.came = Came::kNobody;
    r.error = connect_to_resident(project, kSocket, SOCK_STREAM, socket);
    if (r.error != 0) return;
    call(SYS_fcntl, socket, F_SETFL, O_RDWR);
    wait_at_most(socket, kForAnAnswer);
    Replies replies(socket);
    r.error = ask(socket, replies);
    if (r.error == 0) {
        wait_at_most(socket, kForAReply);
        hand_over(socket, replies, variables, environment);
    }
    close_file(socket);
}

}  // namespace sluice::relay

extern "C" __attribute__((visibility("hidden"), used)) void sluice_relay_request(long* stack) {
    sluice::relay::relay_request(static_cast<int>(stack[0]), reinterpret_cast<char**>(stack + 1 + stack[0] + 1));
}

#ifdef SLUICE_BEGINS_BARE
SLUICE_BEGINS_WITH(sluice_relay_request);
#endif
