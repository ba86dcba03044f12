#pragma once
// The upload folder as one pass of a daemon sees it: is an output file that can't be opened lost, or out of reach?
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "sluice/base/owned_fd.h"

namespace sluice {

/// What became of opening an output file.
struct OpenedOutput {
    enum class Kind {
        kOpen,      ///< a regular file
        kLost,      ///< its folder and the files of others are there, and it is not
        kNoFolder,  ///< files of others are there, its folder is not: nothing came there yet, or it was taken away
        kAway,      ///< whether it is there can't be told: a file system is away, or a permission is missing
        kStrange    ///< a link, a pipe or the like: nothing that a client uploaded
    };
    Kind kind = Kind::kAway;
    OwnedFd fd{};          ///< if kOpen
    std::string why = {};  ///< if not: "PATH: the system's words"
};

class UploadTree {
  public:
    /// openat() without a mode. A test lets it fail.
    using Open = std::function<int(int folder, const char* name, int flags)>;

    UploadTree(std::filesystem::path root, std::int64_t now, Open open = {});

    /// `file` lies in the tree; `received`: when its result was reported. Follows no symbolic link in the place of the
    /// file, and waits for no pipe.
    OpenedOutput open(const std::filesystem::path& file, std::int64_t received);

  private:
    OwnedFd open_folder(const std::filesystem::path& folder) const;
    OpenedOutput missing(const std::filesystem::path& file, std::int64_t received);
    OpenedOutput folder_missing(const std::filesystem::path& file, std::int64_t received);
    bool holds_files();
    bool quiet(const std::filesystem::path& folder, std::int64_t received) const;

    std::filesystem::path root_;
    std::int64_t now_;
    Open open_;
    std::optional<bool> holds_files_;
};

}  // namespace sluice
