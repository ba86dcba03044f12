// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A project whose programs are moved, by sluice adopt or sluice canary: its config.xml, its daemons on this machine,
// and whether its scheduler serves.
#include <filesystem>
#include <string>

#include "config/run/configured_programs.h"
#include "sluice/base/files.h"

namespace sluice {

/// s that a scheduler has for an answer, of one who watches it.
inline constexpr double kAnswerLimit = 20;

class MovedProject {
  public:
    explicit MovedProject(std::filesystem::path folder) : folder_(std::move(folder)) {}
    const std::filesystem::path& folder() const { return folder_; }

    /// Throws ConfigError, with what to do, if this account can't move it on this machine alone. `command`: ours, for
    /// messages.
    void require_possible(const std::string& command) const;
    /// Throws Error if another move is under way, and ConfigError if `sluice shadow --tee` stands in front of the
    /// scheduler. Two at once would undo each other's work.
    FileLock begin_move() const;
    /// What begin_move() holds: nobody moves the project meanwhile. Throws Error.
    FileLock lock_programs() const;
    /// As lock_programs(), for who only looks: makes no file.
    void require_no_move() const;

    std::string config_text() const;
    /// With the group and mode of the old one: the web server's account reads it by its group. Where config.xml is a
    /// link, what it leads to is replaced.
    void write_config(const std::string& text) const;
    /// By trying it: which groups an account may give depends on more than its own. Throws ConfigError.
    void require_group_of_config() const;
    /// What a killed call was writing of config.xml.
    void remove_half_config() const;

    bool is_enabled() const;
    ProjectConfig config() const;
    HostFolders folders() const;
    /// The daemons of config.xml as it is now.
    ConfiguredPrograms programs(const HostFolders& folders) const;
    /// Of that scheduler, a path from cgi-bin, to a request without a host: empty, or why it does not serve. `scratch`:
    /// a folder. `limit`: s that it has.
    std::string silence(const std::string& program, const std::filesystem::path& scratch, double limit) const;

  private:
    std::filesystem::path folder_;
};

}  // namespace sluice
