// SPDX-License-Identifier: LGPL-3.0-or-later
// Each family is one row of a table: what it is called, what it says, and how a cell of a file becomes a sample of it.
// What a file holds beyond that is passed over: web.counters may hold anything. So a label has one of a few values.
#include "daemons/status/exposition.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "sluice/match/reasons.h"
#include "sluice/model/codes.h"

namespace sluice {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

template <std::size_t N>
std::string word(const std::array<const char*, N>& words, std::uint64_t number) {
    return number < N ? words[number] : "";
}
constexpr std::array<const char*, 4> kKinds{"work", "report", "contact", "unreadable"};
constexpr std::array<const char*, 5> kRequestOutcomes{"jobs", "no_jobs", "served", "refused", "unavailable"};
constexpr std::array<const char*, 3> kOrigins{"array", "resend", "assigned"};
constexpr std::array<const char*, 3> kRetries{"deadlock", "lock_wait", "lost_connection"};
constexpr std::array<const char*, 3> kTurnKinds{"worked", "idle", "failed"};
constexpr std::array<const char*, 8> kOutcomes{"none",     "success",    "couldnt_send",   "client_error",
                                               "no_reply", "didnt_need", "validate_error", "client_detached"};
constexpr const char* kWeb = "web";
/// Services that have their turns within `batches`.
constexpr const char* kPartsOfBatches[] = {"batch_upkeep",  "batch_watch",  "batch_shares",
                                           "batch_planner", "gang_planner", "batch_accel"};

/// What numbers in files stand for.
struct Dictionary {
    std::map<std::uint32_t, std::string> reasons, searches, services;
    std::map<Id, std::string> apps;
};

std::string found(const std::map<std::uint32_t, std::string>& names, std::uint32_t label) {
    const auto it = names.find(label);
    return it == names.end() ? "" : it->second;
}

Dictionary dictionary(const MetricFiles& counts, const ProjectSurvey* survey, const ExpositionWords& words) {
    Dictionary d;
    for (std::size_t i = 1; i < static_cast<std::size_t>(Reason::kCount); ++i) {
        const std::string name = reason_name(static_cast<Reason>(i));
        d.reasons[metric_label(name)] = name;
    }
    for (const std::string& name : words.searches) d.searches[metric_label(name)] = name;
    for (const ProgramMetrics& p : counts.programs) d.services[metric_label(p.program)] = p.program;
    for (const char* name : kPartsOfBatches) d.services[metric_label(name)] = name;
    if (survey != nullptr) d.apps = survey->app_names;
    return d;
}

/// The labels of a cell; nullopt: it is none that our programs write.
using ToLabels = std::optional<Labels> (*)(const MetricCell&, const Dictionary&);

std::optional<Labels> one(const char* name, std::string value) {
    if (value.empty()) return std::nullopt;
    return Labels{{name, std::move(value)}};
}
std::optional<Labels> none(const MetricCell&, const Dictionary&) { return Labels{}; }

std::optional<Labels> of_request(const MetricCell& c, const Dictionary&) {
    const std::string kind = word(kKinds, c.labels.name), outcome = word(kRequestOutcomes, c.labels.small);
    if (kind.empty() || outcome.empty()) return std::nullopt;
    return Labels{{"kind", kind}, {"outcome", outcome}};
}
std::optional<Labels> of_search(const MetricCell& c, const Dictionary& d) {
    return one("search", found(d.searches, c.labels.name));
}
std::optional<Labels> of_reason(const MetricCell& c, const Dictionary& d) {
    return one("reason", found(d.reasons, c.labels.name));
}
std::optional<Labels> of_outcome(const MetricCell& c, const Dictionary&) {
    return one("outcome", word(kOutcomes, c.labels.name));
}
std::optional<Labels> of_retry(const MetricCell& c, const Dictionary&) {
    return one("cause", word(kRetries, c.labels.small));
}
std::optional<Labels> of_job(const MetricCell& c, const Dictionary& d) {
    const std::string origin = word(kOrigins, c.labels.tiny / 16);
    const int resource = c.labels.tiny % 16;
    if (origin.empty() || resource >= kProcTypes || c.labels.small > 255) return std::nullopt;
    const auto app = d.apps.find(c.labels.name);
    return Labels{{"app", app == d.apps.end() ? "other" : app->second},
                  {"size_class", std::to_string(c.labels.small)},
                  {"resource", proc_type_name(static_cast<ProcType>(resource))},
                  {"origin", origin}};
}
std::optional<Labels> of_turn(const MetricCell& c, const Dictionary& d) {
    const std::string service = found(d.services, c.labels.name), kind = word(kTurnKinds, c.labels.small);
    if (service.empty() || kind.empty()) return std::nullopt;
    return Labels{{"service", service}, {"result", kind}};
}
std::optional<Labels> of_service(const MetricCell& c, const Dictionary& d) {
    return one("service", found(d.services, c.labels.name));
}

struct FamilyRow {
    Metric metric;
    const char* name;
    const char* help;
    MetricType type;
    ToLabels labels;
    bool of_scheduler;  ///< also counted under the web server's account
};
constexpr MetricType kCounter = MetricType::Counter, kGauge = MetricType::Gauge, kHistogram = MetricType::Histogram;
const FamilyRow kRows[] = {
    {Metric::kRequests, "sluice_scheduler_requests_total", "Requests of clients, by what they asked for and got.",
     kCounter, of_request, true},
    {Metric::kSearches, "sluice_scheduler_searches_total",
     "Requests for work: whether jobs were looked for, or why not.", kCounter, of_search, true},
    {Metric::kRequestSeconds, "sluice_scheduler_request_duration_seconds",
     "Time from a request to its reply, without the start of the process.", kHistogram, none, true},
    {Metric::kJobsSent, "sluice_scheduler_jobs_sent_total", "Jobs sent.", kCounter, of_job, true},
    {Metric::kRefusals, "sluice_scheduler_refusals_total", "Jobs that a check refused to a host, by reason.", kCounter,
     of_reason, true},
    {Metric::kBinding, "sluice_scheduler_no_work_total",
     "Requests for work that got none, by the reason that kept most likely all of it.", kCounter, of_reason, true},
    {Metric::kClaimsLost, "sluice_scheduler_claims_lost_total",
     "Claims of slots for which another process was quicker.", kCounter, none, true},
    {Metric::kJobsLost, "sluice_scheduler_jobs_lost_total", "Jobs chosen that the database said were taken.", kCounter,
     none, true},
    {Metric::kReported, "sluice_scheduler_results_reported_total", "Results reported, by outcome.", kCounter,
     of_outcome, true},
    {Metric::kRepeatedDecisions, "sluice_scheduler_repeated_decisions_total",
     "Decisions made anew because somebody else was quicker or held locks.", kCounter, none, true},
    {Metric::kSqlStatements, "sluice_sql_statements_total", "SQL statements.", kCounter, none, true},
    {Metric::kSqlCommits, "sluice_sql_commits_total", "Commits.", kCounter, none, true},
    {Metric::kSqlRetries, "sluice_sql_retries_total", "Transactions that were done once more, by cause.", kCounter,
     of_retry, true},
    {Metric::kTurns, "sluice_turns_total", "Turns of services, by result.", kCounter, of_turn, false},
    {Metric::kTurnSeconds, "sluice_turn_duration_seconds", "Time that a turn of a service takes.", kHistogram,
     of_service, false},
    {Metric::kLastTurn, "sluice_last_turn_timestamp_seconds", "When a service completed a turn last.", kGauge,
     of_service, false},
    {Metric::kLastError, "sluice_last_error_timestamp_seconds", "When a turn of a service failed last.", kGauge,
     of_service, false},
    {Metric::kStarted, "sluice_start_timestamp_seconds", "When a program was started last.", kGauge, none, false},
};

// ---- counts of programs -------------------------------------------------------------------------------------------

/// Samples by their labels: those of cells that say the same are added.
using Samples = std::map<Labels, ClientMetric>;

ClientMetric& sample(Samples& samples, const Labels& labels) {
    ClientMetric& m = samples[labels];
    m.label = labels;
    return m;
}

void add_to_histogram(ClientMetric::Histogram& h, const MetricCell& cell) {
    constexpr std::size_t kEnds = kMetricBucketCount - 1;
    if (h.bucket.empty()) {
        for (const double end : kMetricBuckets) h.bucket.push_back({0, end});
        h.bucket.push_back({0, std::numeric_limits<double>::infinity()});
    }
    if (cell.labels.tiny == 0) {
        h.sample_sum += static_cast<double>(cell.value) / 1e6;
    } else if (cell.labels.tiny <= kEnds + 1) {
        for (std::size_t b = cell.labels.tiny - 1u; b <= kEnds; ++b) h.bucket[b].cumulative_count += cell.value;
        h.sample_count += cell.value;
    }
}

void add(const FamilyRow& row, const MetricCell& cell, Labels labels, const std::string& program, Samples& samples) {
    labels.push_back({"program", program == kWeb ? "cgi" : program});
    ClientMetric& m = sample(samples, labels);
    const auto value = static_cast<double>(cell.value);
    if (row.type == kHistogram)
        add_to_histogram(m.histogram, cell);
    else if (row.type == kGauge)
        m.gauge.value = std::max(m.gauge.value, value);
    else
        m.counter.value += value;
}

MetricFamily family(const char* name, const char* help, MetricType type, const Samples& samples) {
    MetricFamily f{name, help, type, {}};
    for (const auto& [labels, m] : samples) f.metric.push_back(m);
    return f;
}

void add_counts(std::vector<MetricFamily>& all, const MetricFiles& counts, const Dictionary& names) {
    for (const FamilyRow& row : kRows) {
        Samples samples;
        for (const ProgramMetrics& p : counts.programs) {
            if (p.program == kWeb && !row.of_scheduler) continue;
            for (const MetricCell& cell : p.cells)
                if (cell.metric == row.metric)
                    if (auto labels = row.labels(cell, names)) add(row, cell, std::move(*labels), p.program, samples);
        }
        if (!samples.empty()) all.push_back(family(row.name, row.help, row.type, samples));
    }
    Samples dropped;
    for (const ProgramMetrics& p : counts.programs)
        sample(dropped, {{"program", p.program == kWeb ? "cgi" : p.program}}).counter.value =
            static_cast<double>(p.dropped);
    if (!dropped.empty())
        all.push_back(
            family("sluice_counts_dropped_total", "Counts for which a program's file had no room.", kCounter, dropped));
    Samples unusable;
    sample(unusable, {}).gauge.value = static_cast<double>(counts.problems.size());
    all.push_back(family("sluice_counts_unusable_files", "Files of counts that can't be read.", kGauge, unusable));
}

// ---- facts of the project -----------------------------------------------------------------------------------------

/// Gauges, family by family, in the order in which they come first.
class Gauges {
  public:
    void add(const char* name, const char* help, double value, Labels labels = {}) {
        if (!std::isfinite(value)) return;
        const auto it = std::ranges::find(families_, name, [](const MetricFamily& f) { return f.name; });
        MetricFamily& f = it != families_.end() ? *it : families_.emplace_back(MetricFamily{name, help, kGauge, {}});
        ClientMetric& m = f.metric.emplace_back();
        m.label = std::move(labels);
        m.gauge.value = value;
    }
    const std::vector<MetricFamily>& families() const { return families_; }

  private:
    std::vector<MetricFamily> families_;
};

/// s since then; 0: nothing waits.
double age(double now, double since) { return since > 0 && since < now ? now - since : 0; }

void add_array(Gauges& g, const ProjectSurvey& s) {
    g.add("sluice_array_up", "A feeder's job array is there and filled.", s.array && s.array->ready ? 1 : 0);
    if (!s.array) return;
    const ArrayShape& a = *s.array;
    constexpr const char* kName = "sluice_array_slots";
    constexpr const char* kHelp = "Slots of the job array, by state.";
    g.add(kName, kHelp, static_cast<double>(a.present), {{"state", "present"}});
    g.add(kName, kHelp, static_cast<double>(a.claimed), {{"state", "claimed"}});
    g.add(kName, kHelp, static_cast<double>(a.empty), {{"state", "empty"}});
    // An app that got size classes lately has jobs without one, too: these have no size, or 0, and are one series.
    std::map<std::pair<std::string, int>, std::int64_t> jobs;
    for (const ArrayPart& p : a.parts) {
        const auto name = s.app_names.find(p.app);
        jobs[{name == s.app_names.end() ? "app_" + std::to_string(p.app) : name->second, std::max(p.size_class, 0)}] +=
            p.present + p.claimed;
    }
    for (const auto& [key, n] : jobs)
        g.add("sluice_array_jobs", "Jobs in the array, by app and size class.", static_cast<double>(n),
              {{"app", key.first}, {"size_class", std::to_string(key.second)}});
    g.add("sluice_array_bytes", "Shared memory of the job array.", static_cast<double>(a.bytes));
    g.add("sluice_array_reclaimed_slots", "Slots given back after their owners' deaths, since the feeder started.",
          static_cast<double>(a.reclaimed));
    g.add("sluice_array_mended_slots", "Slots whose state no program of ours wrote, since the feeder started.",
          static_cast<double>(a.mended));
    g.add("sluice_feeder_heartbeat_timestamp_seconds", "The feeder's last sign of life.", a.heartbeat);
}

void add_folders(Gauges& g, const ProjectSurvey& s) {
    for (const auto& [folder, error] : {std::pair("upload", s.uploads_error), {"download", s.downloads_error}})
        g.add("sluice_folder_up", "A folder that clients need can be used.", error.empty() ? 1 : 0,
              {{"folder", folder}});
}

/// Each result has one outcome here.
void add_outcomes(Gauges& g, const std::string& app, const Outcomes& o) {
    const auto results = [&](const char* outcome, std::int64_t n) {
        g.add("sluice_app_last_hour_results",
              "Results of the last hour, by app and outcome; the app's newest 1000 are looked at.",
              static_cast<double>(n), {{"app", app}, {"outcome", outcome}});
    };
    results("valid", o.valid);
    results("invalid", o.invalid);
    results("download_error", o.download_errors);
    results("compute_error", o.compute_errors);
    results("timeout", o.timeouts);
    results("not_judged", o.reported - o.valid - o.invalid - o.download_errors - o.compute_errors - o.timeouts);
}

void add_work(Gauges& g, const ProjectSurvey& s) {
    for (const AppWork& a : s.work) {
        const Labels app{{"app", a.name}};
        const auto jobs = [&](const char* state, std::int64_t n) {
            g.add("sluice_results", "Results, by app and state; counts stop at 200000.", static_cast<double>(n),
                  {{"app", a.name}, {"state", state}});
        };
        jobs("unsent", a.unsent);
        jobs("in_progress", a.in_progress);
        const auto backlog = [&](const char* step, std::int64_t n, double oldest) {
            const Labels labels{{"app", a.name}, {"step", step}};
            g.add("sluice_app_backlog_workunits", "Workunits that wait for a daemon, by app; counts stop at 200000.",
                  static_cast<double>(n), labels);
            g.add("sluice_app_backlog_age_seconds", "How long the first of them has waited.", age(s.now, oldest),
                  labels);
        };
        backlog("validate", a.to_validate, a.oldest_validation);
        backlog("assimilate", a.to_assimilate, a.oldest_assimilation);
        if (const auto hour = s.last_hour.find(a.app); hour != s.last_hour.end()) add_outcomes(g, a.name, hour->second);
    }
    if (!s.backlog) return;
    const WorkBacklog& b = *s.backlog;
    const auto backlog = [&](const char* step, std::int64_t n) {
        g.add("sluice_backlog_rows", "Rows that wait for a daemon; counts stop at 200000.", static_cast<double>(n),
              {{"step", step}});
    };
    backlog("transition", b.transitions);
    backlog("delete_workunit_files", b.workunit_files);
    backlog("delete_result_files", b.result_files);
    g.add("sluice_transition_backlog_age_seconds", "How long the oldest due transition has waited.",
          age(s.now, b.oldest_transition));
}

void add_batches(Gauges& g, const ProjectSurvey& s) {
    g.add("sluice_open_batches", "Batches in progress; at most 50 are looked at.",
          static_cast<double>(std::ranges::count(s.batches, false, &OpenBatch::stopped)));
    for (const OpenBatch& b : s.batches) {
        for (const auto& [event, at] : b.noted)
            if (!b.stopped || event == event_name(BatchEventKind::kStopped))
                g.add("sluice_batch_event_timestamp_seconds",
                      "When batch_watch noted that a batch is slow or late, or stopped it.", static_cast<double>(at),
                      {{"batch", std::to_string(b.id)}, {"event", event}});
        if (b.stopped) continue;
        const Labels labels{{"batch", std::to_string(b.id)}};
        g.add("sluice_batch_jobs", "Jobs of a batch.", b.jobs, labels);
        g.add("sluice_batch_done_ratio", "Part of a batch's jobs that is over.", b.done, labels);
        g.add("sluice_batch_failed_jobs", "Jobs of a batch that failed.", b.failed, labels);
        if (!(b.expected > 0)) continue;
        g.add("sluice_batch_eta_timestamp_seconds", "When a batch is expected to be done.", b.expected, labels);
        g.add("sluice_batch_late_seconds", "How long ago a batch should have been done.", age(s.now, b.expected),
              labels);
    }
}

/// What batch_watch has to tell owners.
void add_outbox(Gauges& g, const ProjectSurvey& s) {
    if (!s.to_tell) return;
    g.add("sluice_batch_events_to_tell", "Events of batches that wait to be told to people.",
          static_cast<double>(s.to_tell->n));
    g.add("sluice_batch_events_to_tell_age_seconds", "How long ago the first of them happened.",
          age(s.now, static_cast<double>(s.to_tell->oldest)));
    g.add("sluice_batch_events_to_tell_tries", "How often telling one of them has failed, at most.",
          s.to_tell->most_tries);
}

void add_shares(Gauges& g, const ProjectSurvey& s, bool per_user) {
    if (s.shares.empty()) return;
    double missed = 0;
    for (const ShareOfUser& u : s.shares) {
        missed += std::max(0.0, u.owed - u.got);
        if (!per_user) continue;
        const Labels labels{{"user", std::to_string(u.user)}};
        g.add("sluice_share_owed_ratio", "A user's part of all quotas.", u.owed, labels);
        g.add("sluice_share_used_ratio", "A user's part of the work of the last 30 days.", u.got, labels);
    }
    g.add("sluice_share_users", "Users with a quota, or with work of their own.", static_cast<double>(s.shares.size()));
    g.add("sluice_share_missed_ratio", "Part of the last 30 days' work that others got than the quotas say.", missed);
}

void add_facts(std::vector<MetricFamily>& all, const ProjectSurvey& s, bool per_user) {
    Gauges g;
    g.add("sluice_survey_timestamp_seconds", "When these facts were read.", s.now);
    g.add("sluice_build_info", "The version of Sluice.", 1, {{"version", s.version}});
    g.add("sluice_database_up", "The database answered.", s.database ? 1 : 0);
    g.add("sluice_scheduler_stopped", "stop_sched is there.", s.scheduler_stopped ? 1 : 0);
    g.add("sluice_uploads_stopped", "stop_upload is there.", s.uploads_stopped ? 1 : 0);
    // Several entries may look the same here: all of them run, or the series says that one does not.
    std::map<std::string, bool> running;
    for (const ProgramState& p : s.daemons)
        if (!p.disabled) running[p.command] = p.running && (!running.contains(p.command) || running[p.command]);
    for (const auto& [command, runs] : running)
        g.add("sluice_daemon_up", "A daemon of config.xml runs on this host.", runs ? 1 : 0, {{"daemon", command}});
    add_folders(g, s);
    add_array(g, s);
    add_work(g, s);
    add_batches(g, s);
    add_outbox(g, s);
    add_shares(g, s, per_user);
    all.insert(all.end(), g.families().begin(), g.families().end());
}

}  // namespace

std::vector<MetricFamily> exposition(const MetricFiles& counts, const ProjectSurvey* survey,
                                     const ExpositionWords& words) {
    std::vector<MetricFamily> all;
    add_counts(all, counts, dictionary(counts, survey, words));
    if (survey != nullptr) add_facts(all, *survey, words.per_user);
    return all;
}

}  // namespace sluice
