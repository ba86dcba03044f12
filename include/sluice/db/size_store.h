// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What size_regulator and size_census read and write.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "sluice/db/database.h"
#include "sluice/model/catalogue.h"
#include "sluice/model/project_tables.h"

namespace sluice {

/// In which order INACTIVE jobs are released; upstream's options.
enum class ReleaseOrder { kNone, kRandom, kPriorityAscending, kPriorityDescending, kPriorityThenWorkunit };

/// Jobs of an app that are of the same batch and size class.
struct ClassQueue {
    int size_class = 0;
    Id batch = 0;
    std::int64_t unsent = 0;
    std::int64_t inactive = 0;  ///< at least so many: all, or as many as may be wanted
    friend bool operator==(const ClassQueue&, const ClassQueue&) = default;
};
struct QueueRelease {
    int size_class = 0;
    Id batch = 0;
    std::int64_t wanted = 0;  ///< INACTIVE jobs to make UNSENT
    friend bool operator==(const QueueRelease&, const QueueRelease&) = default;
};

/// Where a batch stands when INACTIVE jobs are released by their users' shares.
struct ReleasePlace {
    BatchShare share;
    double head = 0;  ///< of a stream: project-seconds of its next job, which `share.end` holds
    bool planned = false;
};
using ReleasePlaces = std::unordered_map<Id, ReleasePlace>;  ///< by batch; empty: there are no shares

class SizeRegulatorStore {
  public:
    virtual ~SizeRegulatorStore() = default;
    /// id, name, n_size_classes, deprecated.
    virtual std::optional<App> app(const std::string& name) = 0;
    /// In one transaction that excludes other regulators of the app: `decide` gets the UNSENT jobs by class and says
    /// how many to release of each; that many at most become UNSENT. Returns the numbers released, in that order.
    using Decide = std::function<std::vector<std::pair<int, std::int64_t>>(const std::map<int, std::int64_t>& unsent)>;
    /// Where a class had fewer than that, only results made since are looked at from then on, however many INACTIVE
    /// ones of other classes there are; until look_everywhere().
    virtual std::vector<std::int64_t> release(Id appid, ReleaseOrder order, const Decide& decide) = 0;
    virtual ReleasePlaces places(double now) = 0;
    /// Likewise by batch, of each the least ids first: `decide` gets the queues that have jobs, by class and batch. It
    /// is asked again where there is something to release: in the transaction, with what is so then; and once more in
    /// another one where other hands took some of the jobs. It never wants more than `most` jobs of a queue. Returns
    /// the numbers released, by class. Keeps in memory which jobs are INACTIVE, of each queue the least ids, and reads
    /// only newer ones each time; until look_everywhere().
    using DecideQueues = std::function<std::vector<QueueRelease>(const std::vector<ClassQueue>&)>;
    virtual std::map<int, std::int64_t> release_queues(Id appid, std::int64_t most, const DecideQueues& decide) = 0;
    /// Results may have become INACTIVE, or of another class, by other hands.
    virtual void look_everywhere(Id appid) = 0;
    /// UNSENT jobs by class, for --dry_run.
    virtual std::map<int, std::int64_t> unsent(Id appid) = 0;
    /// INACTIVE and UNSENT jobs whose class is not below `classes`, and INACTIVE ones without a class; by class.
    virtual std::map<int, std::int64_t> orphans(Id appid, int classes) = 0;
    /// Moves at most `limit` of them to `new_class` (-1: no class; INACTIVE ones become UNSENT then): results and their
    /// workunits. The number moved.
    virtual std::int64_t reclassify(Id appid, int classes, int new_class, int limit) = 0;
};
std::unique_ptr<SizeRegulatorStore> make_size_regulator_store(Database& db);

/// One host_app_version as size_census sees it.
struct SpeedRecord {
    double et_avg = 0;  ///< s per flop
    double on_frac = 0, active_frac = 0, gpu_active_frac = 0;
    std::string plan_class;   ///< of the version; "" for anonymous platform CPU
    int anonymous_type = -1;  ///< ProcType of an anonymous-platform version; -1: a project's version
};

class SizeCensusStore {
  public:
    virtual ~SizeCensusStore() = default;
    /// Not deprecated; with more than one size class unless `all`.
    virtual std::vector<App> apps(bool all) = 0;
    /// Streams the app's measured versions (et_n > 0, et_avg > 0) on the 100,000 hosts of most recent credit.
    /// `min_expavg_credit`: only those with more than that; < 0: all. `anonymous`: also anonymous-platform versions.
    virtual void speeds(Id appid, double min_expavg_credit, bool anonymous,
                        const std::function<void(const SpeedRecord&)>& row) = 0;
};
std::unique_ptr<SizeCensusStore> make_size_census_store(Database& db);

}  // namespace sluice
