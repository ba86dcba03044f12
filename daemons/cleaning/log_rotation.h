// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// rotate_logs: logs stay within a size and an age. A log that is due changes places with an empty one in one step. So
// programs of the web server's account, which can't make a log, find one at every instant. Sluice's programs notice
// within a second (log_follow_rotation()). An old log is compressed when no program has it open any more. Safe to kill
// at any instruction: whatever stands in a file keeps a name by which the next run finds it.
#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "daemons/cleaning/old_logs.h"
#include "sluice/base/clock.h"
#include "sluice/daemon/service.h"

namespace sluice {

struct RotationOptions {
    LogBounds bounds;
    std::set<std::filesystem::path> logs = {};     ///< PROJECT/log_HOST, and where bin/start writes
    std::set<std::filesystem::path> outputs = {};  ///< further logs there or elsewhere, whatever their names
    std::filesystem::path decisions = {};          ///< the folder of decision logs
    std::filesystem::path requests = {};           ///< <debug_req_reply_dir>: files of single requests
    bool gzip = true;
    bool dry_run = false;
};

/// Once over all folders.
class LogRotation final : public Service {
  public:
    /// `clock` outlives it.
    LogRotation(RotationOptions options, const Clock& clock)
        : Service(0), options_(std::move(options)), clock_(clock) {}
    /// kFailed: something could not be done, and was logged; all else was done.
    Turn turn() override;

  private:
    struct Folder {
        int fd;
        std::filesystem::path path;
        std::vector<std::string> names;
        std::map<std::string, std::vector<OldLog>> olds;  ///< by log
        bool only_outputs = false;                        ///< other files there are none of ours
    };
    /// `work` with the folder; nothing if it is not there.
    template <typename Work>
    void in_folder(const std::filesystem::path& path, Work work);
    void read_names(Folder& folder);
    void rotate_in(Folder& folder);
    bool is_log(const Folder& folder, const std::string& name) const;
    void finish(Folder& folder, const std::string& log);
    void rotate_if_due(Folder& folder, const std::string& log);
    void rotate(Folder& folder, const std::string& log);
    void keep_half_rotated(Folder& folder, const std::string& log);
    void thin_out(const Folder& folder);
    void remove(const Folder& folder, const OldLog& old);
    void pack(const Folder& folder, const OldLog& old);
    bool pack_into(const Folder& folder, const OldLog& old, int from, const struct stat& info);
    void thin_out_requests(const Folder& folder);
    void empty_front(const Folder& folder, const OldLog& old, std::int64_t keep);
    void failed(const std::string& what);

    RotationOptions options_;
    const Clock& clock_;
    bool failed_ = false;
    int rotated_ = 0, packed_ = 0, removed_ = 0;
};

}  // namespace sluice
