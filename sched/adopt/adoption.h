// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Moves a project from BOINC's programs to Sluice's, and back. Each step may be repeated; PROJECT/before-sluice holds
// what was replaced and how far the move has come, so that after a kill the next call finishes it.
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "config/run/configured_programs.h"
#include "sluice/base/files.h"

namespace sluice {

struct AdoptionOptions {
    std::filesystem::path project;
    std::filesystem::path prefix;  ///< where Sluice is installed
    bool dry_run = false;
    double stop_wait = 300;  ///< s that daemons have to end
    double watch = 60;       ///< s after the start in which a failure leads back
};

/// What sluice check has to say against the move; empty: nothing.
using FindErrors = std::function<std::vector<std::string>(const std::filesystem::path& project)>;

class Adoption {
  public:
    Adoption(AdoptionOptions options, FindErrors find_errors);

    // Both say on standard output what they do. True: something was changed, or is to be in a dry run. Throw Error if
    // they could not; what was changed until then is undone by adopt(), and left for the next call by revert().
    bool adopt();
    bool revert();

  private:
    enum class Stage { kNone, kKeeping, kSwapping, kAdopted, kReverting, kForgetting };
    struct State {
        Stage stage = Stage::kNone;
        bool enabled = false;  ///< whether the project was on before
    };
    struct LogEnd {
        std::filesystem::path file;
        std::uintmax_t size = 0;
    };

    FileLock begin();
    void move_back();
    State read_state() const;
    bool is_enabled() const;
    void write_state(Stage stage);
    std::string config_text() const;
    void write_config(const std::string& text) const;
    void require_possible() const;
    void require_group_of_config() const;
    void require_statements() const;
    void require_way_back() const;
    void refuse_swapped() const;

    void keep_originals();
    void swap_programs();
    void share_log() const;
    void stop();
    void start();
    void watch();
    void put_back();
    void restore_delay() const;
    void clean_database();
    bool run_statements(const std::string& file) const;
    void forget();
    void say_plan(bool back) const;
    void say_reload() const;

    /// The daemons of config.xml as it is now.
    ConfiguredPrograms programs(const HostFolders& folders) const;
    HostFolders folders() const;
    std::string missing_daemon() const;
    std::string answer() const;
    std::vector<LogEnd> log_ends() const;

    AdoptionOptions options_;
    FindErrors find_errors_;
    std::filesystem::path kept_;
    State state_;
    std::vector<LogEnd> logs_;  ///< as they were before the start
};

}  // namespace sluice
