// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Which hosts return jobs quickly, measured over batches (seed 004, batch acceleration: "for each batch compute median
// TT …, set host.error_rate to the average of TT ratios of its jobs"). Pure: observations in, verdicts out. TT:
// turnaround time, from sending to report. LTT: low turnaround time.
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "sluice/db/batch_store.h"

namespace sluice {

/// The thresholds. Defaults: upstream's (compat_level 0).
struct StatsRules {
    double max_age = 30 * 86400.0;   ///< s: younger batches are measured
    int min_success = 100;           ///< successful results that a batch needs for a median
    double min_success_frac = 0;     ///< of its jobs
    double fail_ratio = 10;          ///< TT ratio of a job that did not succeed
    double ltt_below = 1;            ///< a host with a lower mean TT ratio is LTT
    int min_jobs = 1;                ///< jobs that a verdict on a host needs
    double half_life = 0;            ///< s after which a job counts half; 0: all count the same
    bool count_errors = false;       ///< every job that did not succeed counts, not only those that timed out
    bool count_in_progress = false;  ///< a job that runs longer than the median counts as that long
    bool per_version = false;        ///< verdicts for (host, app version) too
    int min_hosts = 100;             ///< an app with more hosts than this …
    double min_ltt_frac = 0.25;      ///< … more than this part of them LTT, is accelerable
};
/// What <compat_level> stands for.
StatsRules stats_rules(int compat_level);

enum class JobKind : std::uint8_t { kWaiting, kInProgress, kSuccess, kInvalid, kTimedOut, kFailed, kIgnored };

/// One result, as much of it as matters here; kept from pass to pass.
struct Observation {
    Id result = 0, workunit = 0;
    std::uint32_t host = 0;
    std::int32_t version = 0;           ///< generalized_version_id()
    std::uint32_t sent = 0, ended = 0;  ///< UNIX s; ended: report, or deadline for a job that timed out
    JobKind kind = JobKind::kWaiting;
    double turnaround() const { return ended > sent ? static_cast<double>(ended - sent) : 0; }
    friend bool operator==(const Observation&, const Observation&) = default;
};
Observation observe(const ResultTimes& result);

struct BatchMeasure {
    int success = 0, jobs = 0;
    /// nullopt: too few successes to tell, or a median of 0 s, which measures nothing.
    std::optional<double> median;
};
/// `observations`: all of one batch.
BatchMeasure measure(std::span<const Observation> observations, const MeasuredBatch& batch, const StatsRules& rules);

/// Adds measured batches up to verdicts.
class Scores {
  public:
    Scores(const StatsRules& rules, std::int64_t now) : rules_(rules), now_(now) {}
    void add(std::span<const Observation> observations, const MeasuredBatch& batch, const BatchMeasure& measure);

    /// Sorted.
    std::vector<Id> ltt_hosts() const;
    /// By host and version, those with enough jobs for a verdict; empty unless rules.per_version.
    std::vector<VersionTurnaround> versions() const;
    struct AppVerdict {
        Id app = 0;
        int hosts = 0, ltt_hosts = 0;
        bool accelerable = false;
    };
    /// Apps without any host are not in it.
    std::vector<AppVerdict> apps() const;
    std::size_t hosts() const { return hosts_.size(); }

  private:
    struct Score {
        double sum = 0, weight = 0;
        std::uint32_t jobs = 0;
        double mean() const { return weight > 0 ? sum / weight : 0; }
    };
    static constexpr std::uint32_t kNone = UINT32_MAX;
    struct HostScore {
        std::uint32_t host = 0;
        std::uint32_t first_version = kNone;  ///< place in versions_
        Score score;
    };
    struct VersionScore {
        std::int32_t version = 0;
        std::uint32_t next = kNone;  ///< of the same host
        Score score;
    };
    /// Where a host is in hosts_; made if it is new.
    std::uint32_t place_of(std::uint32_t host);
    void make_room();
    /// In index_: where this host stands, or the free place where it would.
    std::size_t slot_of(std::uint32_t host) const;
    Score& score_of(HostScore& host, std::int32_t version);
    bool is_verdict(const Score& score) const;  ///< few jobs are none
    bool is_ltt(const Score& score) const;
    std::optional<double> ratio(const Observation& o, double median) const;
    double weight(const Observation& o) const;

    const StatsRules& rules_;
    std::int64_t now_;
    // A job costs a few nanoseconds here, or a pass over millions of them would take seconds: flat tables, no nodes.
    std::vector<HostScore> hosts_;
    std::vector<VersionScore> versions_;
    std::vector<std::uint32_t> index_;           ///< open addressing by host: place in hosts_ + 1, 0: free
    std::map<Id, std::vector<bool>> completed_;  ///< app -> places of the hosts that completed a job of it
};

}  // namespace sluice
