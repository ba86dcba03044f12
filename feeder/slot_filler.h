// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Chooses jobs for empty slots. It takes queued jobs from the backlog by app weights, submitters, order and HR quotas.
// It loads them in few queries, and drops what may not be sent. Writes nothing: the feeder publishes and marks.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "config/project_config.h"
#include "feeder/array_mirror.h"
#include "feeder/enumerator.h"
#include "feeder/picker.h"
#include "feeder/starvation.h"
#include "sluice/db/feeder_store.h"
#include "sluice/model/catalogue.h"
#include "sluice/model/project_tables.h"

namespace sluice {
struct UnsentJob;

// Which app each slot belongs to with --allapps, and in which order slots are filled.

/// For each of `slots` slots an index into `weights`, interleaved so that every stretch of slots holds about the share
/// of each weight. 3:1 gives 0 1 0 0 0 1 0 0 … A weight of zero (or less) gets no slot; if all are zero, all are equal.
/// Empty if there are no weights.
std::vector<std::size_t> interleave(std::vector<double> weights, std::size_t slots);

/// The same slots in an order of which any beginning lies evenly over the array; so does the rest that stays empty. A
/// request that looks at a part of the array finds that part of each user's jobs.
std::vector<std::uint32_t> spread(std::vector<std::uint32_t> slots);

struct Placement {
    std::uint32_t slot = 0;
    HeldJob held;
    JobSummary job;
    SlotDoc doc;
};

/// An unsent result whose XML, or its workunit's, is not whole.
struct UnwritableJob {
    Id result = 0, workunit = 0;
    std::string why;  ///< "workunit.xml_doc: it ends without </workunit> (65535 bytes)"
};
inline constexpr double kUnwritableRest = 300;  ///< s

struct Choice {
    std::vector<Placement> placements;
    std::vector<Id> not_needed;             ///< unsent results of workunits with an error or a canonical result
    std::vector<UnwritableJob> unwritable;  ///< no reply can carry them: they rest for kUnwritableRest
    bool slots_left = false;                ///< there is no queued job for some slot
};

class SlotFiller {
  public:
    SlotFiller(const ProjectConfig& config, const FeederOptions& options, FeederStore& store, Enumerator& enumerator,
               Picker& picker);

    /// After the tables were (re)loaded: slot plan and HR quotas. Throws ConfigError for a bad hr_info.txt.
    void set_apps(const std::vector<App>& apps, std::size_t slots, const HrInfo* hr_info);
    /// 0: any app.
    Id app_of_slot(std::size_t slot) const { return plan_.empty() ? 0 : plan_[slot % plan_.size()]; }
    /// The slots of each app; without --allapps all of them under app 0.
    const std::map<Id, std::vector<std::uint32_t>>& slots_by_app() const { return slots_by_app_; }
    /// Whether somebody waits for the place of the job in a slot and finds no empty one.
    std::function<bool(std::uint32_t)> wanted_places(const ArrayMirror& mirror);
    /// After choose(): a slot stayed empty that a job of this app, or this very one, would fit in.
    bool lacks_app(Id app) const { return lacking_.count(allapps_ ? app : 0) != 0; }
    bool lacks(const UnsentRow& row) const;
    /// `empty_slots`: ascending. Throws DbError; what was taken out of the backlog until then is found again by the
    /// next walk.
    Choice choose(const ArrayMirror& mirror, const std::vector<std::uint32_t>& empty_slots, double now);

  private:
    enum class Fate { kGood, kNotNeeded, kNotNow, kGone, kOverQuota, kUnwritable };
    struct Pick {
        std::uint32_t slot;
        QueuedJob queued;
    };
    Backlog::Accepts accepts_for(Id app) const;
    bool has_job_for(Id app, const Backlog::Accepts& accepts) const;
    void count_classes(const ArrayMirror& mirror);
    std::vector<Pick> pick(std::vector<std::uint32_t>& slots, std::map<Id, ArrayShares>& shares);
    Fate judge(const UnsentJob& job, const QueuedJob& queued) const;
    /// The better job to the earlier one of the empty slots of the same app.
    void put_in_order(std::vector<Placement>& placements, const std::vector<std::uint32_t>& empty) const;
    void settle(Pick& pick, const UnsentJob* job, double now, Choice& choice, std::vector<std::uint32_t>& again);

    const ProjectConfig& config_;
    bool allapps_, by_shares_;
    std::vector<Id> users_;
    FeederStore& store_;
    Enumerator& enumerator_;
    Picker& picker_;
    std::vector<Id> plan_;  ///< by slot; empty: any app
    std::map<Id, std::vector<std::uint32_t>> slots_by_app_;
    std::unordered_set<Id> lacking_;  ///< apps (0: any) with slots that no queued job fits
    std::unordered_map<Id, int> hr_type_;
    int common_hr_type_ = 0;
    HrQuota quota_;
};

}  // namespace sluice
