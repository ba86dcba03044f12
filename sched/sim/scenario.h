// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What is simulated: a fleet, the work for it, what goes wrong, and the project's settings. docs/simulator.md describes
// the file; here are its fields with their defaults. Times in the unit that the name tells; d = day, h = hour, s.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/json/input.h"

namespace sluice::sim {

inline constexpr double kHour = 3600, kDay = 86400;  ///< s

/// Hosts that live shorter would be replaced without end.
inline constexpr double kLeastLifeDays = 0.01;

/// Hosts, as drawn. Defaults: the laboratory's fleet, invented, loosely calibrated (docs/simulator.md).
struct Fleet {
    int hosts = 1000;
    double speed_sigma = 1.15;    ///< log-normal; the mean speed is 1
    double lifetime_days = 90;    ///< mean of a Weibull with shape 0.5; who leaves is replaced. 0: for ever
    double buffer_factor = 1;     ///< times the drawn buffers
    int max_jobs_per_core = 35;   ///< a client asks for no more than that
    double error_rate = 0.015;    ///< part of the jobs that fail
    double bad_hosts = 0.05;      ///< part of the hosts that fail more often,
    double bad_error_rate = 0.3;  ///< namely so
    double wrong_rate = 0;        ///< part of the jobs that end well with a wrong output
    double lost_rate = 0;         ///< part of the replies that never arrive
    double always_on = 0.2;       ///< part of the hosts that are on nearly always,
    double daily = 0.45;          ///< about eight hours a day; the rest now and then
    double gpu_hosts = 0;         ///< part of the hosts with an NVIDIA GPU
    double wrong_clocks = 0;      ///< part of the hosts whose clock is up to two days off
    double memory_gb = 8;         ///< median, log-normal with sigma 0.7
    double files_gb = 10;         ///< a client keeps so much of sticky input files
    double other_share = 0;       ///< part of each host's time that other projects have
    std::string trace;            ///< CSV of hosts instead of drawn ones; empty: none
    std::string sessions;         ///< CSV of when the hosts compute, instead of drawn times; empty: none
    std::string trace_text;       ///< its content; empty: it is read
};

struct AppSpec {
    std::string name = "app";
    int size_classes = 0;            ///< app.n_size_classes; 1: accelerable
    int homogeneous_redundancy = 0;  ///< 0 none, 1 fine, 2 coarse
    bool homogeneous_app_version = false;
    bool gpu = false;         ///< its version needs an NVIDIA GPU
    bool threads = false;     ///< its version uses all processors of a host, two at least
    int locality = 0;         ///< app.locality_scheduling; 1: jobs are chosen by their files,
    bool file_groups = true;  ///< also those that are not in the array (docs/locality.md)
};

struct UserSpec {
    std::string name = "user";
    double quota = 1;
};

/// Sticky input files that the jobs of a line of work share.
struct FilesSpec {
    int open = 0;    ///< files at a time, in turn; 0: its jobs have none
    int jobs = 100;  ///< that need one file; then another takes its place
    double megabytes = 100;
};

/// Jobs that run at the same time: each `size` of a batch that follow each other.
struct GangSpec {
    int size = 0;                    ///< members; 0: no gangs
    double checkpoint_minutes = 15;  ///< of computing, from one checkpoint to the next
    bool restart = false;            ///< with a member on a new host all begin anew; else others send it their state
};

/// Jobs of one kind from one user.
struct WorkSpec {
    std::string user = "user", app = "app";
    enum class Kind {
        kStream,   ///< jobs one by one
        kBatches,  ///< batches of `jobs`
    } kind = Kind::kStream;
    double jobs_per_day = 0;  ///< stream: a Poisson process; 0: as many as are taken, `keep` are always unsent
    int keep = 0;
    int jobs = 1000;                    ///< of a batch
    double every_hours = 24;            ///< between batches, mean
    bool poisson = true;                ///< else exactly
    std::vector<double> size_hours{1};  ///< run time on a host of speed 1; several: equally often, size class 0, 1, …
    double size_sigma = 0.25;           ///< log-normal, of the real size around that
    double estimate = 1;                ///< rsc_fpops_est is the real mean times this
    double delay_bound_days = 7;
    int quorum = 1, target = 0;  ///< target 0: quorum
    double memory_mb = 100, disk_mb = 100;
    FilesSpec files;
    GangSpec gang;
    double from_day = 0, until_day = 1e9;
};

struct EventSpec {
    double at_day = 0;
    enum class What {
        kDatabaseAway,  ///< for `hours`
        kHostsVanish,   ///< `part` of the hosts, for good, not replaced
        kHostsJoin,     ///< `part` of the fleet's number, new ones
        kDemand,        ///< work from now on comes `part` times as fast
        kHostsFail,     ///< `part` of the hosts return errors only from now on
    } what = What::kDatabaseAway;
    double part = 0, hours = 0;
};

struct Scenario {
    std::string name = "scenario";
    double days = 7, warmup_days = 0;
    double drain_days = 0;    ///< after `days` no work comes any more; the simulation goes on for at most that long
    double target_hours = 8;  ///< FleetResult::in_band
    int compat_level = 1;
    std::string config_xml;   ///< options of config.xml, as text of its <config>
    std::string config_file;  ///< text of a whole config.xml in the place of both; what names files and databases
                              ///< does not count
    std::string config_name;  ///< its name, for complaints
    std::string feeder;       ///< the feeder's command line, words with blanks between
    double regulator_low = 0, regulator_high = 0;  ///< size_regulator runs with these water marks; 0: not
    double regulator_sleep = 60;                   ///< s between its polls
    double census_every_hours = 24;                ///< size_census, where an app has size classes
    double accel_every_hours = 0;                  ///< batch_stats, then batch_accel; 0: not
    std::string accel_options, stats_options;      ///< their command lines, words with blanks between
    double shares_every_minutes = 0;               ///< batch_upkeep, then batch_shares; 0: not
    double planner_every_minutes = 0;              ///< batch_planner; 0: not
    double planner_margin = 1.2, planner_horizon_hours = 168, planner_copies = 0;
    double keep_days = 0;  ///< rows of jobs that are over stay so long, and until their batch is
    Fleet fleet;
    std::vector<AppSpec> apps;
    std::vector<UserSpec> users;
    std::vector<WorkSpec> work;
    std::vector<EventSpec> events;
    std::vector<std::string> platforms{"windows_x86_64", "x86_64-pc-linux-gnu",
                                       "x86_64-apple-darwin"};  ///< each app has a version for each
};

/// The app whose jobs these are.
const AppSpec& app_of(const Scenario& scenario, const WorkSpec& work);

/// Throws json::InputError that names the place.
Scenario parse_scenario(const json::Object& document);
/// Fields that replace a scenario's own: a JSON object, merged into it by RFC 7396. It replaces a field of an object;
/// null removes it; a list is replaced whole.
struct Override {
    std::string name;  ///< for complaints
    std::string text;  ///< empty: none
};
/// A built-in one by its name, or a file's. Throws Error (says which names there are), json::InputError.
Scenario load_scenario(const std::string& name_or_file, const Override& changed = {});

struct BuiltInScenario {
    const char* name;
    const char* about;  ///< one line
    const char* json;
};
const std::vector<BuiltInScenario>& built_in_scenarios();

}  // namespace sluice::sim
