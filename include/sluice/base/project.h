// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace sluice {

/// The project's root: $BOINC_PROJECT_DIR, else "." or ".." if it holds config.xml. Absolute, without symbolic links.
/// Throws ConfigError that says where it looked and what to do.
std::filesystem::path find_project_dir();
/// gethostname() up to the first dot, as in log_HOST.
std::string short_host_name();
std::filesystem::path log_dir(const std::filesystem::path& project);

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

// Files in the project's folder that stop or change what programs do while they are there. Admins forget them.

struct TriggerFile {
    const char* name;
    const char* effect;  ///< what holds while it is there, and what to do
    bool stops_scheduler = false;
    bool stops_work = stops_scheduler;  ///< of the scheduler or of other programs; otherwise it changes what they do
    double normal_age = 0;              ///< s: until then it is no sign of trouble; infinity: a setting
};
/// Of all that programs look for, those that are there now.
std::vector<TriggerFile> triggers_present(const std::filesystem::path& project);
/// Has the feeder read apps, versions and what else goes out with its tables again. Throws FileError.
void ask_feeder_to_reread(const std::filesystem::path& project);
/// "stop_sched is present: …".
std::string trigger_text(const TriggerFile& trigger);

/// Tells whether any of some files (or folders) changed since it was last asked: by size, times and inode (a file that
/// may be read now has changed).
class WatchedFiles {
  public:
    void watch(std::vector<std::filesystem::path> files);
    bool changed();
    const std::vector<std::filesystem::path>& files() const { return files_; }

  private:
    std::vector<std::string> fingerprints() const;
    std::vector<std::filesystem::path> files_;
    std::vector<std::string> seen_;
};

}  // namespace sluice
