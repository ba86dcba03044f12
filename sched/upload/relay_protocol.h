// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What file_upload_handler, which the web server starts for each request (relay_start.cpp), and a resident one
// (resident.h) say to each other, in messages of a SOCK_SEQPACKET socket. The resident one speaks first: kHello, which
// says that this request will be served. Then the relay sends an UploadRequest, and with it its standard input: the
// body goes through no other hands. The answer to the client is the last message. A connection that ends without it:
// the resident one was killed, and has read nobody knows how much.
#include <cstdint>

namespace sluice::upload {

/// To be changed with anything below: a resident program of another version is left alone.
inline constexpr char kHello[] = "SLUICE_UPLOAD 1";

/// In PROJECT/pid_HOST, as the resident scheduler's (sched/cgi/relay_protocol.h).
inline constexpr char kUploadSocket[] = "upload.sock";

/// Of the relay's environment; both end with NUL, and are empty if they are not set.
struct UploadRequest {
    char address[64];  ///< REMOTE_ADDR
    char length[24];   ///< CONTENT_LENGTH
};

/// No answer is longer.
inline constexpr int kMostAnswer = 4096;

}  // namespace sluice::upload
