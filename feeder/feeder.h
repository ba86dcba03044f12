// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The feeder: keeps the job array full. One turn sees which jobs were taken, gives back the jobs of dead schedulers,
// does what is due (tables, census files, credit scales, changed jobs), and fills slots. Upstream: feeder, feeder_user.
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "config/project_config.h"
#include "feeder/array_mirror.h"
#include "feeder/census_reader.h"
#include "feeder/chain.h"
#include "feeder/starvation.h"
#include "sluice/base/env.h"
#include "sluice/base/timing.h"
#include "sluice/db/catalogue_store.h"
#include "sluice/db/feeder_store.h"
#include "sluice/shmem/feeder_array.h"

namespace sluice {

/// Which part of the unsent results is this feeder's, where several machines have one: as many equal parts as there are
/// feeders that live. A feeder lives as long as its lease changes; nobody's clock is compared with another's.
class LiveFeeders {
  public:
    static constexpr double kRenewal = 3, kExpiry = 15;  ///< s
    /// `own`: the name of this feeder's lease.
    explicit LiveFeeders(std::string own) : own_(std::move(own)) {}
    const std::string& own() const { return own_; }
    /// `leases`: all that there are `now`, by name.
    FeederPart part(const std::vector<FeederLease>& leases, double now);
    /// Of that look: those whose feeders died.
    const std::vector<FeederLease>& dead() const { return dead_; }

  private:
    struct Seen {
        std::int64_t beat = 0;
        double since = 0;  ///< when it was first seen so
    };
    std::string own_;
    std::map<std::string, Seen> seen_;
    std::vector<FeederLease> dead_;
};

struct FeederParts {
    FeederArray& array;
    FeederStore& store;
    CatalogueStore& catalogue;
    FeederLeaseStore* leases = nullptr;  ///< none: nobody shares the jobs with this feeder
    std::string lease_name{};
};

class Feeder {
  public:
    /// What turn() returns, at most, in the middle of a walk through the queue; more where the next turn need not be
    /// soon.
    static constexpr double kWalkWait = 0.004;

    /// Everything given outlives the feeder. No database access yet.
    Feeder(const ProjectConfig& config, const FeederOptions& options, const FeederParts& parts, Env env);

    /// Returns for how long, at most, it may wait for jobs to be taken. A database that is away is logged once and
    /// tried again with back-off; the array lives on meanwhile. Throws ConfigError when started with settings that
    /// can't work.
    double turn();
    /// The first complete fill is done.
    bool ready() const { return ready_; }
    /// The database's last error, while it lasts.
    const std::string& trouble() const { return trouble_; }
    /// For SIGUSR1.
    std::string state_text() const;

  private:
    void keep_house(double now);
    void work(double now);
    void set_up(double now);
    void reload(double now);
    void publish_tables(double now);
    void look_at_triggers(double now);
    bool look_at_wish_of_other_feeder();
    void share_with_others(double now);
    /// Slots by apps, HR types and classes, as the tables and hr_info.txt say now; false: as they were.
    bool renew_plan();
    bool hr_info_changed();
    void refresh_credit_scales(double now);
    int update_credit_scales();
    void keep_file_groups(double now);
    void name_inactive_jobs();
    void name_unreleased_jobs();
    void note_unwritable(const std::vector<UnwritableJob>& jobs);
    void name_unwritable_jobs(double now);
    void name_broken_versions();
    void name_pinned_jobs(double now);
    void name_jobs_without_batch(double now);
    std::string text_of(const CatalogueStore::Inactive& jobs) const;
    void fill(double now);
    void fill_empty_slots(double now);
    void publish(const std::vector<Placement>& placements, double now);
    void check_held_jobs(double now);
    void make_room(double now);
    void purge_stale(double now);
    void rotate(double now);
    void report_starvation(double now);
    void sum_up(double now);
    /// Takes a job back out of the array; nullopt if a scheduler was quicker.
    std::optional<HeldJob> withdraw(std::uint32_t slot);
    void apply(const JobState& state, std::uint32_t slot, std::vector<Id>& not_needed);
    void note_trouble(const std::string& what, double now);
    double wait_time(double now) const;
    std::filesystem::path reread_trigger() const { return std::filesystem::path(config_.project_dir) / "reread_db"; }

    const ProjectConfig& config_;
    const FeederOptions& options_;
    FeederArray& array_;
    FeederStore& store_;
    CatalogueStore& catalogue_;
    Env env_;
    CensusReader census_;
    ArrayMirror mirror_;
    StarvationWatch starvation_;
    std::unique_ptr<FeederChain> chain_;  ///< after the first contact with the database
    ProjectTables tables_;

    FeederLeaseStore* leases_;
    LiveFeeders live_;
    FeederPart part_;
    Periodic renewal_{LiveFeeders::kRenewal};

    bool ready_ = false, hungry_ = false;
    std::string trouble_, memory_trouble_;
    TroubleLog trouble_log_;
    BackOff retry_wait_;
    double retry_at_ = 0;
    Periodic house_{1}, triggers_{1}, credit_scales_{600}, check_{0.2}, room_{1}, summary_{60}, file_groups_{60};
    Periodic reload_{60};  ///< level 1, or --leave_reread_db: changes of apps and versions take effect without it
    Periodic rotation_, starvation_report_;
    std::size_t check_from_ = 0;
    std::optional<std::filesystem::file_time_type> hr_info_time_, seen_reread_;
    std::string inactive_said_, unreleased_said_, broken_versions_said_;
    std::set<Id> unwritable_;          ///< results that were left out since the log named some
    std::string unwritable_examples_;  ///< of these
    Periodic unwritable_report_{60}, pinned_look_{60}, without_batch_look_{60};
    std::size_t without_batch_said_ = 0;              ///< how many
    std::set<std::pair<Id, int>> pinned_said_;        ///< (app, version number)
    std::set<std::pair<Id, int>> unreleased_before_;  ///< (app, class) at the look before
    struct Tally {
        std::uint64_t added = 0, taken = 0, reclaimed = 0, not_needed = 0, withdrawn = 0, rotated = 0, purged = 0;
    } tally_, total_;
};

}  // namespace sluice
