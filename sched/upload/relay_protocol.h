// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What file_upload_handler, which the web server starts for each request (relay_start.cpp), and a resident one
// (resident.h) say to each other, in messages of a SOCK_SEQPACKET socket. The relay sends an UploadRequest at once, and
// with it its standard input: the body goes through no other hands. The resident one says kTaken before it reads of
// that. A relay that has waited in vain shuts its side down: then kTaken can't be sent, so one of them reads the body
// and never both. The answer to the client is the second message, and the last one. A connection that ends between
// them: the resident one was killed, and has read nobody knows how much.
#include <cstdint>

namespace sluice::upload {

/// To be changed with anything below: a resident program of another version is left alone. Version 1 had requests of
/// 88 bytes.
inline constexpr char kTaken[] = "SLUICE_UPLOAD 2";

/// In PROJECT/pid_HOST, as the resident scheduler's (sched/cgi/relay_protocol.h).
inline constexpr char kUploadSocket[] = "upload.sock";

struct UploadRequest {
    char version[sizeof kTaken];  ///< kTaken
    // Of the relay's environment; both end with NUL, and are empty if they are not set.
    char address[48];  ///< REMOTE_ADDR
    char length[20];   ///< CONTENT_LENGTH
};

/// No answer is longer. The relay's stack has room for so much without another page.
inline constexpr int kMostAnswer = 1024;

}  // namespace sluice::upload
