// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Whether anything may have happened to files that each request depends on. To look at each of them costs a request
// more than its XML. Of a local file system the kernel tells of changes (inotify), before the program that made them
// goes on: then one system call replaces all looks. Of others, such as NFS, it tells only what this machine did: there
// each request looks, as it does where the kernel has no room for watches.
#include <chrono>
#include <filesystem>
#include <vector>

#include "sluice/base/files.h"

namespace sluice {

class ChangeNotice {
  public:
    using Clock = std::chrono::steady_clock;
    /// From now on these count, whether they are there or not; PATH/ is what comes into that folder or leaves it. The
    /// next any() is true.
    void watch(std::vector<fs::path> files);
    /// Whether something may have happened since it was last asked. True, too, a second after it last was: of a few
    /// changes the kernel tells nobody (a folder on the way to a file is another one now).
    bool any(Clock::time_point now = Clock::now());

  private:
    void arm();
    bool add(const fs::path& file);
    bool told() const;
    std::vector<fs::path> files_;
    OwnedFd inotify_;      ///< stays open: to give watches up takes the kernel milliseconds
    bool usable_ = false;  ///< false: every any() is true
    Clock::time_point said_{};
};

}  // namespace sluice
