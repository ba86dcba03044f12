// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// One request of the upload protocol: checks, decisions, answer. Stands for upstream's file_upload_handler.
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "sched/upload/request_head.h"
#include "sched/upload/upload_file.h"
#include "sluice/base/signing.h"

namespace sluice::upload {

struct UploadSettings {
    std::filesystem::path upload_dir;
    int fanout = 0;
    const PublicKey* key = nullptr;  ///< null: <ignore_upload_certificates>
    int initial_permission = 0664;   ///< of a new file (under the process's umask)
    /// Of a complete one; -1: as it is, but read-only. A file that nobody may write is never written again: what was
    /// reported, and perhaps validated, is what stays.
    int completed_permission = -1;
    bool hide_incomplete = false;  ///< a new file begins as NAME..part
    /// A size query is refused below this: a client should not start what can't end.
    double min_free_space = 1e9;
    /// How long the rest of a refused body is read and dropped.
    Milliseconds drain_limit{60000};
    std::function<std::optional<double>(const std::filesystem::path&)> free_space;  ///< default: free_bytes()
    IsMounted is_mounted = upload::is_mounted;
};

struct Answer {
    enum class Status { kDone = 0, kTransient = 1, kPermanent = -1 };
    Status status = Status::kDone;
    std::string message;                     ///< of an error
    std::optional<std::uint64_t> file_size;  ///< of a size query
};

/// Reads the request, obeys it, drains what is left. `client`: the address, for the log.
Answer handle_upload_request(BodyReader& body, const UploadSettings& settings, const std::string& client);
/// Header and <data_server_reply>.
std::string answer_text(const Answer& answer);

}  // namespace sluice::upload
