// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A trigger file that goes when its wish is fulfilled, unless it was made anew meanwhile.
#include <sys/stat.h>

#include <filesystem>
#include <optional>

namespace sluice {

class SeenTrigger {
  public:
    /// nullopt: it is not there. Its time of change is set back by a second where that is permitted (to its owner):
    /// file systems tell times by ticks of some milliseconds, and a touch in this tick must be noticed, too.
    static std::optional<SeenTrigger> look(const std::filesystem::path& file);
    /// errno; 0: it is gone, or it is another wish now.
    int remove_if_unchanged() const;

  private:
    SeenTrigger(std::filesystem::path file, const struct stat& seen) : file_(std::move(file)), seen_(seen) {}
    std::filesystem::path file_;
    struct stat seen_ {};
};

}  // namespace sluice
