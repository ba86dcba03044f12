// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The upload folder as one pass of a daemon sees it: is an output file that can't be opened lost, or out of reach?
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "sluice/base/files.h"

namespace sluice {

/// s. No outage lasts longer unnoticed.
constexpr std::int64_t kLongOutage = 7 * 86400;

/// What became of opening an output file.
struct OpenedOutput {
    enum class Kind {
        kOpen,      ///< a regular file
        kLost,      ///< its folder and older files of others are there, and it is not
        kNoFolder,  ///< older files of others are there, its folder is not, or is younger than the report
        kEmpty,     ///< it is not there, nor is any file that is older than the report
        kAway,      ///< whether it is there can't be told: a file system is away, or a permission is missing
        kStrange    ///< a link, a pipe or the like: nothing that a client uploaded
    };
    Kind kind = Kind::kAway;
    OwnedFd fd{};          ///< if kOpen
    std::string why = {};  ///< if not: "PATH: the system's words"

    bool is_missing() const { return kind == Kind::kLost || kind == Kind::kNoFolder || kind == Kind::kEmpty; }
};

class UploadTree {
  public:
    /// openat() without a mode. A test lets it fail.
    using Open = std::function<int(int folder, const char* name, int flags)>;

    UploadTree(std::filesystem::path root, std::int64_t now, Open open = {});

    /// `file` lies in the tree; `received`: when its result was reported. Follows no symbolic link in the place of the
    /// file, and waits for no pipe.
    OpenedOutput open(const std::filesystem::path& file, std::int64_t received);

    /// Where a file of that name lies, if not in its folder: another <uldl_dir_fanout> put it there.
    std::optional<std::filesystem::path> elsewhere(const std::filesystem::path& file) const;

  private:
    /// At a file that could not be opened at once.
    OpenedOutput look_closely(const std::filesystem::path& file, std::int64_t received);
    OwnedFd open_folder(const std::filesystem::path& folder) const;
    OpenedOutput missing(const std::filesystem::path& file, int folder, std::int64_t received);
    OpenedOutput folder_missing(const std::filesystem::path& file, std::int64_t received);
    OpenedOutput nothing_there(const std::filesystem::path& file, const std::string& reason) const;
    bool long_ago(std::int64_t when) const;
    bool was_used_before(std::int64_t received);
    void look_for_files(const std::filesystem::path& folder, std::int64_t received);
    bool is_younger(int folder, const std::filesystem::path& path, std::int64_t received) const;

    std::filesystem::path root_;
    std::int64_t now_;
    Open open_;
    std::optional<std::int64_t> oldest_;  ///< when it was changed, of the files that were seen
    bool all_seen_ = false;
};

}  // namespace sluice
