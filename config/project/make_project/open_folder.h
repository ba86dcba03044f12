// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A folder that is opened once: what somebody puts in its place meanwhile gets nothing of what is written.
#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/base/files.h"

namespace sluice {

class OpenFolder {
  public:
    /// Throws FileError if there is no such folder.
    explicit OpenFolder(const std::filesystem::path& path);
    /// A folder in this one. Throws FileError.
    OpenFolder folder(const char* name) const;

    const std::filesystem::path& path() const { return path_; }  ///< for messages
    int fd() const { return fd_.get(); }
    struct stat info() const;
    /// Links are not followed. nullopt: nothing is called so.
    std::optional<struct stat> look_at(const std::string& name) const;
    std::vector<std::string> names() const;
    /// Of a regular file; empty: it is none, can't be read or is longer.
    std::string text_of(const std::string& name, std::size_t longest) const;

    // In place of a file or link, at once; a folder is not replaced. After a power cut the old one is there or the new.
    // All throw FileError.
    void put_file(const std::string& name, std::string_view text, mode_t mode) const;
    void put_link(const std::string& name, const std::filesystem::path& target) const;
    /// With mode 0755; without effect if there is one.
    void make_folder(const std::string& name) const;
    void rename(const std::string& from, const std::string& to) const;

  private:
    OpenFolder(int parent, const std::string& name, std::filesystem::path path);
    [[noreturn]] void fail(const char* what, const std::string& name) const;

    std::filesystem::path path_;
    OwnedFd fd_;
};

}  // namespace sluice
