// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A project of which everything is known, with names that need escaping; and counts of its programs.
#include "daemons/status/project_survey.h"
#include "sluice/base/metrics.h"

namespace sluice::test {

inline constexpr double kSurveyTime = 1'800'000'000;

inline ProjectSurvey a_survey() {
    ProjectSurvey s;
    s.now = kSurveyTime;
    s.project = "Primes & <Friends>";
    s.url = "https://example.org/primes/";
    s.host = "node7";
    s.version = "0.2.0";
    s.server_version = "10.11.6-MariaDB";
    s.schema_revision = "27032";
    s.database = true;
    s.array = ArrayShape{1000, 700, 20, 280, 2'500'000, 12, 1, 0, kSurveyTime - 1, true, {}};
    s.array->parts = {{1, -1, 100, 0}, {1, 0, 200, 0}, {1, 1, 250, 0}, {2, -1, 150, 0}};
    s.daemons = {{"feeder", "feeder", false, true},
                 {"transitioner", "transitioner", false, true},
                 {"sample_bitwise_validator (upper\"case)", "sample_bitwise_validator", false, false},
                 {"db_purge", "db_purge", true, false}};
    s.work = {{1, "upper\"case", "Upper & lower case", 12000, 3400, 17, 3, kSurveyTime - 120, kSurveyTime - 30},
              {2, "fold", "Folding", 90, 1500, 0, 0, 0, 0}};
    s.last_hour[1] = {
        .reported = 100, .download_errors = 2, .compute_errors = 3, .timeouts = 4, .valid = 60, .invalid = 1};
    s.app_names = {{1, "upper\"case"}, {2, "fold"}};
    s.backlog = WorkBacklog{5, kSurveyTime - 4, 60, 120};
    s.last_day = {{1, 3600, 60, 90000, 41}};
    s.community = Community{{5000, 900, 12},
                            {11000, 1500, 31},
                            4e6,
                            {{1073741824, 40}, {2147483648, 700}, {4294967296, 720}, {8589934592, 40}}};
    s.batches = {{7, "first <batch>", "upper\"case", 5000, 3, 0.85, kSurveyTime + 7200, 1'799'900'000},
                 {9, "late", "fold", 100, 0, 0.99, kSurveyTime - 5000, 1'799'000'000},
                 {12, "", "fold", 40, 0, 0, 0, 1'799'990'000}};
    s.batches[1].noted = {{"late", 1'799'995'000}, {"slow", 1'799'990'000}};
    s.batches.push_back({5,
                         "stopped",
                         "fold",
                         40,
                         12,
                         0.5,
                         0,
                         1'799'990'000,
                         true,
                         {"stopped: it fails"},
                         {{"late", 1'799'992'000}, {"stopped", 1'799'993'000}}});
    s.to_tell = EventsToTell{2, static_cast<std::int64_t>(kSurveyTime) - 600, 3};
    s.shares = {{3, 0.5, 0.75}, {4, 0.5, 0.25}};
    return s;
}

inline MetricFiles some_counts() {
    const auto requests = [](ClientRequest kind, RequestOutcome outcome, std::uint64_t n) {
        return MetricCell{
            Metric::kRequests, {static_cast<std::uint32_t>(kind), static_cast<std::uint16_t>(outcome)}, n};
    };
    ProgramMetrics scheduler{"scheduler",
                             {requests(ClientRequest::kWork, RequestOutcome::kJobs, 900),
                              requests(ClientRequest::kWork, RequestOutcome::kNoJobs, 80),
                              requests(ClientRequest::kReport, RequestOutcome::kServed, 30),
                              {Metric::kSearches, {metric_label("done")}, 950},
                              {Metric::kRequestSeconds, {0, 0, 0}, 4'000'000},
                              {Metric::kRequestSeconds, {0, 0, 3}, 600},
                              {Metric::kRequestSeconds, {0, 0, 17}, 2},
                              {Metric::kJobsSent, {1, 1, resource_and_origin(0, 0)}, 1500},
                              {Metric::kJobsSent, {1, 0, resource_and_origin(1, 1)}, 5},
                              {Metric::kRefusals, {metric_label("memory")}, 77},
                              {Metric::kRefusals, {metric_label("deadline")}, 8},
                              {Metric::kBinding, {metric_label("memory")}, 60},
                              {Metric::kClaimsLost, {}, 9},
                              {Metric::kJobsLost, {}, 1},
                              {Metric::kReported, {1}, 1400},
                              {Metric::kReported, {3}, 20},
                              {Metric::kRepeatedDecisions, {}, 2},
                              {Metric::kSqlStatements, {}, 8000},
                              {Metric::kSqlCommits, {}, 1000},
                              {Metric::kSqlRetries, {0, 0}, 3}},
                             0};
    const std::uint32_t upkeep = metric_label("batch_upkeep"), self = metric_label("transitioner");
    const auto second = static_cast<std::uint64_t>(kSurveyTime);
    ProgramMetrics batches{
        "batches", {{Metric::kTurns, {upkeep, 1}, 50}, {Metric::kLastTurn, {upkeep}, second - 20}}, 0};
    ProgramMetrics transitioner{"transitioner",
                                {{Metric::kTurns, {self, 0}, 5000},
                                 {Metric::kTurns, {self, 2}, 2},
                                 {Metric::kTurnSeconds, {self, 0, 0}, 9'000'000},
                                 {Metric::kTurnSeconds, {self, 0, 5}, 5000},
                                 {Metric::kLastTurn, {self}, second - 5},
                                 {Metric::kLastError, {self}, second - 86400},
                                 {Metric::kStarted, {}, second - 90000}},
                                0};
    return {{batches, scheduler, transitioner, {"web", {requests(ClientRequest::kWork, RequestOutcome::kJobs, 4)}, 0}},
            {}};
}

}  // namespace sluice::test
