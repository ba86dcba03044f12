// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A folder of input or output files, in fan-out folders, from which a daemon deletes.
#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "sluice/base/files.h"

namespace sluice {

class FileTree {
  public:
    /// `fanout` as <uldl_dir_fanout>; 0: all files lie in `root`.
    FileTree(std::filesystem::path root, int fanout) : root_(std::move(root)), fanout_(fanout) {
        if (!root_.has_filename()) root_ = root_.parent_path();  // "upload/"
    }

    const std::filesystem::path& root() const { return root_; }

    /// "" or why nothing may be concluded from a file that is not there: the folder can't be read, or holds no file at
    /// all, as where its file system is not mounted. A folder in which files were seen before may become empty.
    std::string why_away();

    enum class Removed {
        kYes,
        kNoFile,    ///< its folder is there, and it is not
        kNoFolder,  ///< its fan-out folder was never made, or is gone
        kFailed
    };
    struct Removal {
        Removed what = Removed::kFailed;
        std::string why = {};  ///< of kFailed: "PATH: the system's words"
    };
    /// A file in its fan-out folder, which is open. Keep it for this file only: an open folder can't be unmounted.
    struct Place {
        std::string name;
        std::string folder;
        OwnedFd fd;
        Removal shut = {};  ///< of a folder that can't be opened
        std::string path() const { return folder + '/' + name; }
    };
    /// `name`: is_valid_file_name(), without '/'.
    Place find(const std::string& name) const;
    /// Deletes the file at `place`, to whose name `suffix` is added (".gz", ".md5"; it does not count for the fan-out
    /// folder). Never leaves the tree: a fan-out folder may be a symbolic link only if root or this process's account
    /// made it.
    Removal remove(const Place& place, const char* suffix = "") const;
    Removal remove(const std::string& name) const { return remove(find(name)); }
    std::filesystem::path path(const std::string& name) const;
    /// A file NAME + suffix beside the file at `place`, ".gz" or ".md5", is what create_work, stage_file or upstream's
    /// tools made of it, and not an input file of that very name, which lies there without fan-out folders, or by
    /// chance. It is told by the size of the file that it was made of; so this is asked before that file is deleted.
    bool is_made_of(const Place& place, const char* suffix) const;

  private:
    static Removal failed(int error, const std::filesystem::path& place);
    std::string folder_of(const std::string& name) const {
        return fanout_ > 0 ? root_.string() + '/' + fanout_folder(name, fanout_) : root_.string();
    }
    std::filesystem::path root_;
    int fanout_;
    std::optional<std::pair<dev_t, ino_t>> used_;  ///< the folder in which files were seen
};

/// Opens `folder` (a path, from `at` on). -1 with errno: ELOOP for a symbolic link that neither root nor this process's
/// account made.
int open_trusted_folder(int at, const std::string& folder);

}  // namespace sluice
