// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The file log_levels of a project: while it is there it sets the log levels of daemons, without a new start.
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/base/log.h"
#include "sluice/base/project.h"

namespace sluice {

inline constexpr const char* kLogLevels = "log_levels";

/// Lines `PROGRAM LEVEL`, or `all LEVEL`; the last one that fits counts. nullopt: none does. `wrong`: lines that are no
/// such lines.
std::optional<LogLevel> level_in(std::string_view text, std::string_view program, std::vector<std::string>& wrong);

class LevelFile {
  public:
    LevelFile(const std::filesystem::path& file, std::string program);
    /// Sets the level, if the file came, went or changed.
    void look();

  private:
    std::filesystem::path file_;
    std::string program_;
    LogLevel usual_;  ///< without the file
    WatchedFiles watched_;
    bool first_ = true;
};

}  // namespace sluice
