// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Requests to one host: delete a file, send one, fetch one. Each is a message (msg_to_host), which the scheduler hands
// over with the host's next reply.
#include <cstdint>
#include <string>
#include <vector>

#include "sluice/base/signing.h"

namespace sluice {

struct FileRequest {
    std::string file;               ///< physical name
    std::vector<std::string> urls;  ///< where it goes to, or comes from
    std::int64_t deadline = 0;      ///< UNIX s
    std::int64_t max_nbytes = 0;    ///< of a file that the host sends
    std::string md5;                ///< of a file that it fetches
    std::int64_t nbytes = 0;
};

/// msg_to_host.xml: what the client reads. Names and URLs are escaped.
std::string delete_file_message(const std::string& file);
/// `signer`: keys/upload_private, so that the upload is accepted; null where certificates are off.
std::string get_file_message(const FileRequest& request, const PrivateKey* signer);
std::string put_file_message(const FileRequest& request);

}  // namespace sluice
