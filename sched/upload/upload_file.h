// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Files of the upload tree. At any moment, whatever kills the writer, a file is either what it was before or a prefix
// of what is being uploaded: a client can always resume at its size.
//
// A file may stand beside its place, as NAME..part (no name that a client may use has two dots), until its last byte
// has arrived: who announces a byte more than he sends, and reports, has not uploaded, and nobody reads what can still
// be changed. What has its name and may be written is gone on with in its place.
//
// Paths are walked component by component from the upload folder, and no symbolic link below it is followed.
#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "sluice/base/files.h"

namespace sluice::upload {

/// Why something can't be done: what the client is told. All of it may pass.
struct Problem {
    std::string message;
};

/// Whether the file system of the upload folder is where it belongs.
using IsMounted = std::function<bool(const std::filesystem::path&)>;
/// By /etc/fstab.
bool is_mounted(const std::filesystem::path& folder);

class UploadFile {
  public:
    enum class Access {
        kRead,
        kWrite,
        kWriteBeside  ///< a new file begins as NAME..part
    };
    struct Opened;

    std::uint64_t size() const;
    /// Opened for writing, but it may not be written any more: an upload was completed.
    bool completed() const { return completed_; }

    /// Exclusive, without waiting, until the file is closed. On failure the holder's pid, 0 if it is not known or the
    /// file has given way to another one. The holder before may have completed the file: completed() is true then.
    std::optional<pid_t> lock();
    /// The pid of the process that writes it now.
    std::optional<pid_t> locked_by() const;

    /// Puts `bytes` at `offset` (at most size()). Bytes that are there already are left as they are; at the first
    /// difference the file is cut off, so that nothing of an older upload stays behind what was written.
    std::optional<Problem> put(std::uint64_t offset, std::string_view bytes);
    /// Nothing is missing that has not arrived: it gets its name, if that is free. Before the last bytes are put, so
    /// that a file that has all of them, and after which its client asks no more, never waits for its name.
    std::optional<Problem> take_name();
    /// The upload is complete: nothing follows its last byte, and what the client will delete is on the disk.
    std::optional<Problem> finish(std::uint64_t nbytes);
    /// From now on it has these permissions; `mode` < 0: nobody may write it any more, and where the upload folder is
    /// another account's, all who get there may read it, whatever the umask; the rest stays.
    std::optional<Problem> seal(int mode);

  private:
    friend Opened open_upload_file(const std::filesystem::path&, const std::filesystem::path&, Access, int,
                                   const IsMounted&);
    UploadFile(OwnedFd fd, const struct stat& opened, bool completed)
        : fd_(std::move(fd)), opened_(opened), completed_(completed) {}
    bool is_at(const std::string& name) const;
    OwnedFd fd_;
    struct stat opened_;  ///< what fd_ was when it was opened
    bool completed_ = false;
    std::optional<std::uint64_t> locked_size_;  ///< known while it is locked: nobody else writes it
    bool read_by_another_ = false;              ///< the upload folder belongs to another account: the project's
    OwnedFd folder_;                            ///< of a file that is written
    std::string name_, part_;  ///< the name that it has or is to get, and the one that it began with; in `folder_`
    bool named_ = true;
};

/// Under which name a file stands until it is complete.
std::string part_name(const std::string& name);

struct UploadFile::Opened {
    std::optional<UploadFile> file;
    std::optional<Problem> problem;  ///< neither: it does not exist (kRead)
};

/// `relative`: HASH/name below `root`. Writing creates folder and file, the file with permissions `mode`. No folder is
/// made in the bare mount point: what lay there would be hidden by the next mount.
UploadFile::Opened open_upload_file(const std::filesystem::path& root, const std::filesystem::path& relative,
                                    UploadFile::Access access, int mode, const IsMounted& mounted = is_mounted);

/// Bytes that others than root may still write there; nullopt if the system does not say.
std::optional<double> free_bytes(const std::filesystem::path& folder);

}  // namespace sluice::upload
