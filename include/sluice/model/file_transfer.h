// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What get_file and put_file send to a client: it takes it for a job of the app file_xfer. No row of the database
// stands for it.
#include <string_view>

namespace sluice {

/// Before the file's name: the job's.
inline constexpr std::string_view kUploadJob = "upload_", kDownloadJob = "download_";

/// The name may be that of such a job; a job of the database may have it, too.
inline bool may_be_file_transfer(std::string_view job) {
    return job.starts_with(kUploadJob) || job.starts_with(kDownloadJob);
}

}  // namespace sluice
