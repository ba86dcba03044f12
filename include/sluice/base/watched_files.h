// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace sluice {

/// Tells whether any of some files (or folders) changed since it was last asked: by size, times and inode (a file that
/// may be read now has changed).
class WatchedFiles {
  public:
    void watch(std::vector<std::filesystem::path> files);
    bool changed();

  private:
    std::vector<std::string> fingerprints() const;
    std::vector<std::filesystem::path> files_;
    std::vector<std::string> seen_;
};

}  // namespace sluice
