// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Gives a part of a project's hosts to Sluice's scheduler, beside BOINC's. Each step may be repeated:
// PROJECT/sluice-canary says how far it has come, so that after a kill the next call finishes it, or undoes it.
#include <filesystem>
#include <string>
#include <vector>

#include "sched/adopt/moved_project.h"

namespace sluice {

struct CanaryOptions {
    std::filesystem::path project;
    std::filesystem::path prefix;  ///< where Sluice is installed
    double wait = 60;              ///< s until our scheduler serves, and until its daemons have ended
};

class Canary {
  public:
    explicit Canary(CanaryOptions options);

    // Both say on standard output what they do. Throw Error if they could not. divide() then undoes what it has begun,
    // and end() leaves the rest to the next call.
    /// `share`: hundredths of a percent of the hosts, above 0.
    void divide(int share);
    /// False: there was nothing to end.
    bool end();

    /// Hundredths of a percent; 0: no host goes to Sluice.
    int share() const;
    /// What keeps hosts from our scheduler although a share is set, each with what to do.
    std::vector<std::string> wrong() const;
    std::filesystem::path figures() const;

  private:
    enum class Stage { kNone, kBeginning, kDividing, kEnding };
    struct State {
        Stage stage = Stage::kNone;
        bool had_tables = true;  ///< tables of ours were there before
    };
    State read_state() const;
    void write_state(State state) const;
    void set_share(int share) const;
    void refuse_moved() const;
    void install() const;
    void make_folders() const;
    void add_daemons() const;
    void take_daemons_out() const;
    void start_daemons() const;
    void undo(State state) const;
    void put_back_their_scheduler() const;
    void end_daemons() const;
    void forget() const;
    bool is_front_there() const;
    std::string their_feeders_arguments() const;

    CanaryOptions options_;
    MovedProject site_;
    std::filesystem::path folder_;
};

}  // namespace sluice
