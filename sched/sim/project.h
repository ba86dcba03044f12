// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The simulated project. It runs the real stages of the scheduler and the real daemons, on a database in memory, a job
// array of their own and a virtual clock. Nothing is decided here.
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>

#include "config/project_config.h"
#include "db/memory/memory_db.h"
#include "sched/rpc/reply.h"
#include "sched/rpc/request.h"
#include "sched/sim/project_services.h"
#include "sched/sim/scenario.h"
#include "sluice/base/clock.h"
#include "sluice/base/log.h"
#include "sluice/base/rng.h"
#include "sluice/model/eta.h"

namespace sluice {

struct Result;
struct Workunit;
class Feeder;
}  // namespace sluice

namespace sluice::sim {

class VirtualClock final : public Clock {
  public:
    explicit VirtualClock(double start) : now_(start) {}
    double now() const override { return now_; }
    void set(double now) { now_ = now; }

  private:
    double now_;
};

inline constexpr const char* kSignKey = "sim";  ///< the project's key for code

/// Of every app.
inline constexpr const char* kOutputTemplate =
    "<file_info><name><OUTFILE_0/></name><generated_locally/><upload_when_present/><max_nbytes>1000000</max_nbytes>"
    "<url><UPLOAD_URL/></url></file_info><result><file_ref><file_name><OUTFILE_0/></file_name>"
    "<open_name>out</open_name></file_ref></result>";

/// The turns that the feeder's program has made since the last request, as far as they matter: between requests nobody
/// looks into the array. A walk through the queue goes on at its own pace.
class FeederTurns {
  public:
    /// `turn` is Feeder::turn().
    void take(const std::function<double()>& turn, double now);

  private:
    double next_ = 0;
};

/// A workunit that is over, with its instances.
struct FinishedJob {
    const Workunit& workunit;
    const std::vector<const Result*>& results;
};

/// A folder for the time of a simulation, where the project's files are.
class OwnFolder {
  public:
    OwnFolder();  ///< Throws FileError.
    OwnFolder(const OwnFolder&) = delete;
    ~OwnFolder();
    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

/// Hears what becomes of jobs.
class JobWatcher {
  public:
    virtual ~JobWatcher() = default;
    /// A canonical result was found, or the job was given up (error_mask).
    virtual void decided(const Workunit& workunit) = 0;
    virtual void over(const FinishedJob& job) = 0;
    /// batch_planner expects the batch to be done by then, and is so sure.
    virtual void expected(Id batch, double time, const EtaFactors& factors) = 0;
};

class SimProject {
  public:
    /// Makes users, apps, versions, and a job array under a name of its own; `rng` is the servers'. Throws ConfigError.
    SimProject(const Scenario& scenario, VirtualClock& clock, Rng& rng);
    ~SimProject();

    MemoryDb& db() { return db_; }
    const ProjectConfig& config() const { return config_; }
    /// The account of the host with that number; its key. Each host has an owner of its own.
    std::string add_volunteer(std::uint64_t host);
    /// One scheduler RPC.
    SchedulerReply rpc(const SchedulerRequest& request);
    /// What daemons have to do now: to be called every few seconds of virtual time, when anything may be due.
    void run_daemons(JobWatcher& watcher);
    /// The run ends: jobs that are decided and have instances on hosts are over.
    void close(JobWatcher& watcher);
    /// Until then every request is answered that the database is away, and no daemon works.
    void database_away_until(double time);
    bool database_away() const;
    /// Results with a wrong output, by name: the validator finds them to differ from all others.
    std::unordered_set<std::string>& wrong_results() { return wrong_; }
    /// The project has gangs from now on.
    void start_gang_planner();
    std::uint64_t rpc_verbs() const { return rpc_verbs_; }  ///< store verbs that requests called
    /// Is told of each wish of a daemon that the feeder read its tables again; may be empty.
    std::function<void()> on_reread;

  private:
    struct Parts;
    void make_rows(const Scenario& scenario);
    void make_app(Id id, const AppSpec& spec);
    ServiceWorld service_world(Env env, const PlanClasses& plan_classes);
    void assimilate();
    void clean_up();
    void purge();
    void remove(Id workunit);

    const Scenario& scenario_;
    VirtualClock& clock_;
    Rng& rng_;
    MemoryDb db_;
    LogLevel log_level_before_;
    OwnFolder folder_;
    ProjectConfig config_;
    std::unordered_set<std::string> wrong_;
    std::deque<std::pair<double, Id>> to_purge_;  ///< workunits that are over, and when
    double away_until_ = 0;
    std::uint64_t rpc_verbs_ = 0;
    std::unique_ptr<Parts> parts_;
    JobWatcher* watcher_ = nullptr;  ///< of this call of run_daemons()
};

}  // namespace sluice::sim
