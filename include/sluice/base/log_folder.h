// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <sys/types.h>

#include <filesystem>

namespace sluice {

/// Of log_HOST: the logs of the scheduler and of the upload handler, which the web server's account may write.
inline constexpr const char* kWebLogs[] = {"scheduler.log", "file_upload_handler.log"};

/// Makes PROJECT/log_HOST, if it is missing, for a program of the web server's that runs as `user`. The project's user
/// makes it as start does: the web server's group (that of upload/) reads, and the two logs that it writes, too, are
/// there. Where another account may make folders in the project, the project's group can write, so that its daemons
/// can. What can't be done is left: whoever then opens a log says so.
void make_log_folder(const std::filesystem::path& project, uid_t user);
/// Makes the two logs in it that programs of the web server's write, where they are missing: its account can't make
/// files that the project's may write to. `folder`: a descriptor.
void make_web_server_logs(int folder);

}  // namespace sluice
