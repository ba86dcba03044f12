// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What this process counts, for who watches the project (docs/metrics.md). As with the log, there is one set of counts
// a process. They lie in a file that processes of one program share, mapped into each: a count is one atomic addition.
//
// Files: PROJECT/log_HOST/metrics/PROGRAM.counters, which the project's account alone writes; and web.counters, for
// programs that the web server runs under another account. That account may write anything into it: who reads believes
// neither its size nor its content, and no program ends because it was cut.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// Numbers stand in files that outlive programs: a new one gets the next number, none is used again.
enum class Metric : std::uint8_t {
    kNothing = 0,
    kRequests = 1,        ///< labels: name: ClientRequest; small: RequestOutcome
    kSearches = 2,        ///< name: whether jobs were looked for, or why not
    kRequestSeconds = 3,  ///< a histogram
    kJobsSent = 4,        ///< name: app id; small: size class; tiny: resource_and_origin()
    kRefusals = 5,        ///< name: reason; of jobs
    kBinding = 6,         ///< name: reason; of requests that got no job
    kClaimsLost = 7,
    kJobsLost = 8,  ///< decided upon and then found to be taken
    kReported = 9,  ///< name: Outcome
    kRepeatedDecisions = 10,
    kSqlStatements = 11,
    kSqlCommits = 12,
    kSqlRetries = 13,   ///< small: why, as SqlRetry
    kTurns = 14,        ///< name: service; small: TurnKind
    kTurnSeconds = 15,  ///< name: service; a histogram
    kLastTurn = 16,     ///< name: service; UNIX s, of turns that went well
    kLastError = 17,    ///< name: service; UNIX s
    kStarted = 18       ///< UNIX s
};

enum class ClientRequest : std::uint32_t { kWork, kReport, kContact, kUnreadable };
enum class RequestOutcome : std::uint16_t {
    kJobs,
    kNoJobs,   ///< it asked for some
    kServed,   ///< it asked for none
    kRefused,  ///< with one message, and nothing was done
    kUnavailable
};
/// Of a job that was sent: ProcType, and where it came from (0 the array, 1 sent again, 2 meant for its host).
constexpr std::uint8_t resource_and_origin(int resource, int origin) {
    return static_cast<std::uint8_t>(origin * 16 + resource);
}
enum class SqlRetry : std::uint16_t { kDeadlock, kLockWait, kLost };
enum class TurnKind : std::uint16_t { kWorked, kIdle, kFailed };

struct MetricLabels {
    std::uint32_t name = 0;  ///< metric_label(), or an id
    std::uint16_t small = 0;
    std::uint8_t tiny = 0;
    friend auto operator<=>(const MetricLabels&, const MetricLabels&) = default;
};
/// FNV-1a: names of reasons and services are known to who reads, and stay when others come.
constexpr std::uint32_t metric_label(std::string_view name) {
    std::uint32_t hash = 2166136261u;
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    return hash;
}

/// From here on this process counts in the file of `program`. Never throws: where there is no such file and none can be
/// made, it counts for itself.
void metrics_open(const std::filesystem::path& project, std::string_view program) noexcept;
void count_metric(Metric metric, MetricLabels labels = {}, std::uint64_t n = 1) noexcept;
/// For what is no count: the newest value counts.
void set_metric(Metric metric, MetricLabels labels, std::uint64_t value) noexcept;

/// Upper ends of a histogram's buckets, s; a last one has no end.
inline constexpr double kMetricBuckets[] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                            0.5,   1,      2.5,   5,    10,    30,   60,  300};
inline constexpr std::size_t kMetricBucketCount = std::size(kMetricBuckets) + 1;
/// `labels.tiny` is the histogram's own: 0 the sum in microseconds, then one a bucket.
void observe_metric(Metric metric, MetricLabels labels, double seconds) noexcept;

struct MetricCell {
    Metric metric = Metric::kNothing;
    MetricLabels labels;
    std::uint64_t value = 0;
};
/// What one file holds. Of web.counters everything may be false.
struct ProgramMetrics {
    std::string program;  ///< "web": of the web server's account
    std::vector<MetricCell> cells;
    std::uint64_t dropped = 0;  ///< counts for which the file had no room
};
struct MetricFiles {
    std::vector<ProgramMetrics> programs;  ///< by name
    std::vector<std::string> problems;     ///< files that can't be used
};
/// All of this host. At most 100 files; never throws.
MetricFiles read_metrics(const std::filesystem::path& project) noexcept;

}  // namespace sluice
