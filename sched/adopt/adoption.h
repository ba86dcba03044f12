// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Moves a project from BOINC's programs to Sluice's, and back. Each step may be repeated; PROJECT/before-sluice holds
// what was replaced and how far the move has come, so that after a kill the next call finishes it.
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/run/process_lock.h"
#include "sched/adopt/moved_project.h"
#include "sched/adopt/program_files.h"
#include "sched/adopt/watch.h"
#include "sluice/base/files.h"

namespace sluice {

struct AdoptionOptions {
    std::filesystem::path project;
    std::filesystem::path prefix;  ///< where Sluice is installed
    bool dry_run = false;
    double stop_wait = 300;                            ///< s that daemons have to end
    double watch = 60;                                 ///< s after the start in which a failure leads back
    std::function<void(const std::string& line)> say;  ///< is told each step
};

/// s after which a client may come back during a move. Upstream's cgi reads it, too, at each request.
inline constexpr const char* kDelayOption = "maintenance_delay";
inline constexpr const char* kShortDelay = "60";

/// What sluice check has to say against the move; empty: nothing.
using FindErrors = std::function<std::vector<std::string>(const std::filesystem::path& project)>;

class Adoption {
  public:
    Adoption(AdoptionOptions options, FindErrors find_errors);

    // Both say what they do. True: something was changed, or is to be in a dry run, which writes nothing. Throw Error
    // if they could not; what was changed until then is undone by adopt(), and left for the next call by revert().
    bool adopt();
    bool revert();

    /// What became of a call that threw.
    enum class Failure {
        kRefused,    ///< nothing was changed
        kUndone,     ///< all is as it was before
        kUnfinished  ///< the next call does what is left
    };
    Failure failure() const;
    /// "none", "adopted", or where between the two the move is.
    const char* stage() const;

  private:
    /// kUndoing: on the way back from a move that failed; kReverting: from one that was complete.
    enum class Stage { kNone, kKeeping, kStopping, kSwapping, kAdopted, kReverting, kUndoing, kForgetting };
    struct State {
        Stage stage = Stage::kNone;
        bool enabled = false;    ///< whether the project was on before
        bool elsewhere = false;  ///< the old programs run in another place only: all are replaced, bin/start, too
    };

    std::optional<FileLock> begin();
    void require_sound() const;
    void move();
    void move_back();
    [[noreturn]] void go_on(const std::string& why);
    bool all_ours() const;
    std::vector<std::string> running_of_ours() const;
    void say(const std::string& line) const { options_.say(line); }
    State read_state() const;
    void write_state(Stage stage);
    void require_statements() const;
    void require_room() const;
    void require_rights() const;
    void require_way_back() const;
    void refuse_swapped() const;
    void look_at_scripts();

    // Sluice's cgi comes first and leaves last (adoption_web.cpp).
    void hold_clients(bool moving_in);
    void put_web_programs();
    void wait_for_requests(bool may_be_interrupted) const;
    void let_clients_in() const;
    void start_old();
    void wait_for_old_array() const;
    void return_web_programs() const;

    void keep(const std::string& name) const;
    void keep_originals();
    void renew(const std::vector<std::string>& programs) const;
    void swap_programs();
    void stop(bool may_be_interrupted);
    void start();
    void watch();
    Look look(double at, bool ask);
    std::string silence() const;
    void put_back();
    void restore_delay() const;
    void clean_database();
    void forget();
    void say_plan(bool back) const;
    void say_reload() const;

    std::vector<std::string> missing_daemons() const;
    MovedPrograms programs() const;
    std::filesystem::path statements_file() const;

    AdoptionOptions options_;
    MovedProject site_;
    FindErrors find_errors_;
    std::filesystem::path kept_;
    State state_;
    std::string why_elsewhere_;        ///< found by this call
    bool changed_ = false;             ///< by this call
    std::vector<LogTail> logs_;        ///< from where they ended before the start
    std::optional<RunLock> no_start_;  ///< held while nothing may be started
};

}  // namespace sluice
