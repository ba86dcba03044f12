// SPDX-License-Identifier: LGPL-3.0-or-later
// The metrics, and what is said of them elsewhere: docs, alerts and the dashboard name metrics that exist. promtool has
// the last word on their form, and on the alerts.
#include "daemons/status/exposition.h"

#include <prometheus/text_serializer.h>

#include <nlohmann/json.hpp>
#include <random>
#include <regex>
#include <set>

#include "daemons/status/exporter.h"
#include "sched/handle/decision.h"
#include "sluice/base/files.h"
#include "sluice/match/reasons.h"
#include "tests/support/paths.h"
#include "tests/support/subprocess.h"
#include "tests/unit/status/sample_survey.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

ExpositionWords words(bool per_user = false) {
    ExpositionWords w{{}, per_user};
    for (const SearchInfo& info : search_infos()) w.searches.emplace_back(info.name);
    return w;
}

std::string text_of(const MetricFiles& counts, const ProjectSurvey* survey, const ExpositionWords& w) {
    return prometheus::TextSerializer().Serialize(exposition(counts, survey, w));
}

std::string full_text() {
    const ProjectSurvey survey = a_survey();
    return text_of(some_counts(), &survey, words(true));
}

std::set<std::string> names_in(const std::string& text) {
    std::set<std::string> names;
    const std::regex name("sluice_[a-z0-9_]+");
    for (std::sregex_iterator it(text.begin(), text.end(), name), end; it != end; ++it)
        names.insert(std::regex_replace(it->str(), std::regex("_(bucket|sum|count)$"), ""));
    return names;
}

/// Those of `used` that are no metrics.
std::set<std::string> unknown(const std::string& used) {
    const std::set<std::string> known = names_in(full_text());
    std::set<std::string> strange;
    for (const std::string& name : names_in(used))
        if (!known.contains(name)) strange.insert(name);
    return strange;
}

fs::path monitoring(const char* name) { return fs::path(source_dir()) / "config/monitoring" / name; }

TEST(Exposition, PromtoolAcceptsIt) {
    RunOptions input;
    input.stdin_text = full_text();
    const auto checked = Subprocess({"promtool", "check", "metrics"}, input).wait();
    ASSERT_TRUE(checked.has_value());
    EXPECT_EQ(checked->status, 0) << checked->out << checked->err;
    EXPECT_THAT(checked->out + checked->err, IsEmpty());
}

TEST(Exposition, SaysWhatWasCounted) {
    const std::string text = full_text();
    for (
        const char* line :
        {R"(sluice_scheduler_requests_total{kind="work",outcome="jobs",program="scheduler"} 900)",
         R"(sluice_scheduler_requests_total{kind="work",outcome="jobs",program="cgi"} 4)",
         R"(sluice_scheduler_jobs_sent_total{app="upper\"case",size_class="0",resource="NVIDIA",origin="resend",program="scheduler"} 5)",
         R"(sluice_scheduler_request_duration_seconds_bucket{program="scheduler",le="0.0025"} 0)",
         R"(sluice_scheduler_request_duration_seconds_bucket{program="scheduler",le="0.005"} 600)",
         R"(sluice_scheduler_request_duration_seconds_bucket{program="scheduler",le="+Inf"} 602)",
         R"(sluice_scheduler_request_duration_seconds_sum{program="scheduler"} 4)",
         R"(sluice_turns_total{service="batch_upkeep",result="idle",program="batches"} 50)",
         R"(sluice_sql_retries_total{cause="deadlock",program="scheduler"} 3)",
         R"x(sluice_daemon_up{daemon="sample_bitwise_validator (upper\"case)"} 0)x",
         R"(sluice_array_jobs{app="upper\"case",size_class="0"} 300)",
         R"(sluice_array_jobs{app="upper\"case",size_class="1"} 250)",
         R"(sluice_app_backlog_age_seconds{app="upper\"case",step="validate"} 120)",
         R"(sluice_app_last_hour_results{app="upper\"case",outcome="valid"} 60)",
         R"(sluice_app_last_hour_results{app="upper\"case",outcome="invalid"} 1)",
         R"(sluice_app_last_hour_results{app="upper\"case",outcome="download_error"} 2)",
         R"(sluice_app_last_hour_results{app="upper\"case",outcome="compute_error"} 3)",
         R"(sluice_app_last_hour_results{app="upper\"case",outcome="timeout"} 4)",
         R"(sluice_app_last_hour_results{app="upper\"case",outcome="not_judged"} 30)",
         R"(sluice_folder_up{folder="upload"} 1)",
         R"(sluice_folder_up{folder="download"} 1)",
         R"(sluice_batch_late_seconds{batch="9"} 5000)",
         R"(sluice_batch_jobs{batch="9"} 100)",
         R"(sluice_batch_event_timestamp_seconds{batch="9",event="slow"} 1799990000)",
         R"(sluice_batch_event_timestamp_seconds{batch="5",event="stopped"} 1799993000)",
         "sluice_batch_events_to_tell 2",
         "sluice_batch_events_to_tell_age_seconds 600",
         "sluice_batch_events_to_tell_tries 3",
         R"(sluice_share_owed_ratio{user="3"} 0.5)",
         "sluice_transition_backlog_age_seconds 4"})
        EXPECT_THAT(text, HasSubstr(std::string(line) + "\n"));
    EXPECT_THAT(text, testing::Not(HasSubstr("daemon=\"db_purge\"")));
}

TEST(Exposition, FoldersThatCantBeUsedAreDown) {
    ProjectSurvey survey = a_survey();
    survey.uploads_error = "/p/upload: No such file or directory";
    const std::string text = text_of(some_counts(), &survey, words());
    EXPECT_THAT(text, HasSubstr("\nsluice_folder_up{folder=\"upload\"} 0\n"));
    EXPECT_THAT(text, HasSubstr("\nsluice_folder_up{folder=\"download\"} 1\n"));
    EXPECT_THAT(text, testing::Not(HasSubstr("/p/upload")));
}

TEST(Exposition, EntriesThatLookAlikeAreOneSeries) {
    ProjectSurvey survey = a_survey();
    survey.daemons = {{"feeder", "feeder", false, true},
                      {"feeder", "feeder", false, false},
                      {"feeder", "feeder", false, true},
                      {"feeder", "feeder", true, false}};
    EXPECT_THAT(text_of(some_counts(), &survey, words()), HasSubstr("\nsluice_daemon_up{daemon=\"feeder\"} 0\n# "));
    survey.daemons[1].running = true;
    EXPECT_THAT(text_of(some_counts(), &survey, words()), HasSubstr("\nsluice_daemon_up{daemon=\"feeder\"} 1\n# "));
}

TEST(Exposition, AppsKeepTheirNamesWithoutTheDatabase) {
    ProjectSurvey survey = a_survey();
    survey.work.clear();
    EXPECT_THAT(text_of(some_counts(), &survey, words()),
                AllOf(HasSubstr(R"(sluice_scheduler_jobs_sent_total{app="upper\"case",size_class="0")"),
                      HasSubstr(R"(sluice_array_jobs{app="upper\"case",size_class="1"} 250)")));
}

TEST(Exposition, UsersAreNamedOnlyIfAsked) {
    const ProjectSurvey survey = a_survey();
    const std::string text = text_of(some_counts(), &survey, words());
    EXPECT_THAT(text, testing::Not(HasSubstr("user=")));
    EXPECT_THAT(text, HasSubstr("sluice_share_missed_ratio 0.25"));
}

// The web server's account may write anything into its file: so many labels at most, none of them its own words, and
// nothing but what schedulers count.
TEST(Exposition, AHostileFileAddsAFewNumbers) {
    std::mt19937_64 random(5);
    MetricFiles counts = some_counts();
    ProgramMetrics& web = counts.programs.back();
    web.dropped = ~std::uint64_t{0};
    for (int i = 0; i < 100'000; ++i) {
        const bool near = i % 2 == 0;
        const auto metric = static_cast<Metric>(random() % (near ? 25 : 256));
        const MetricLabels labels{static_cast<std::uint32_t>(near ? random() % 9 : random()),
                                  static_cast<std::uint16_t>(near ? random() % 9 : random()),
                                  static_cast<std::uint8_t>(random())};
        web.cells.push_back({metric, labels, random()});
    }
    web.cells.push_back({Metric::kLastTurn, {metric_label("transitioner")}, 99'999'999'999});
    const ProjectSurvey survey = a_survey();
    const std::string text = text_of(counts, &survey, words());
    RunOptions input;
    input.stdin_text = text;
    const auto checked = Subprocess({"promtool", "check", "metrics"}, input).wait();
    ASSERT_TRUE(checked.has_value());
    EXPECT_EQ(checked->status, 0) << checked->out << checked->err;
    EXPECT_LT(text.size(), 1u << 20);
    EXPECT_THAT(
        text,
        HasSubstr("sluice_last_turn_timestamp_seconds{service=\"transitioner\",program=\"transitioner\"} 17999999"));
    const std::regex falsified("sluice_(turn|last|start)[a-z_]*\\{[^}]*program=\"cgi\"");
    EXPECT_FALSE(std::regex_search(text, falsified));
    EXPECT_THAT(text,
                HasSubstr(R"(sluice_scheduler_requests_total{kind="work",outcome="jobs",program="scheduler"} 900)"));
}

TEST(Exposition, WithoutASurveyCountsStay) {
    const std::string text = text_of(some_counts(), nullptr, words());
    EXPECT_THAT(text, HasSubstr("sluice_scheduler_refusals_total{reason=\"memory\",program=\"scheduler\"} 77"));
    EXPECT_THAT(text, testing::Not(HasSubstr("sluice_survey_timestamp_seconds")));
}

TEST(Exposition, NamesHaveLabelsOfTheirOwn) {
    std::set<std::uint32_t> labels;
    std::size_t names = 0;
    for (std::size_t i = 1; i < static_cast<std::size_t>(Reason::kCount); ++i, ++names)
        labels.insert(metric_label(reason_name(static_cast<Reason>(i))));
    EXPECT_EQ(labels.size(), names);
    labels.clear();
    for (const std::string& search : words().searches) labels.insert(metric_label(search));
    EXPECT_EQ(labels.size(), words().searches.size());
}

TEST(Monitoring, DocsListEveryMetric) {
    const std::string docs = *read_file(fs::path(source_dir()) / "docs/metrics.md");
    for (const std::string& name : names_in(full_text())) EXPECT_THAT(docs, HasSubstr("`" + name + "`"));
    EXPECT_THAT(unknown(docs), IsEmpty());
}

TEST(Monitoring, AlertsNameMetricsAndHaveARunbook) {
    const std::string rules = *read_file(monitoring("alerts.yml")),
                      docs = *read_file(fs::path(source_dir()) / "docs/alerts.md");
    EXPECT_THAT(unknown(rules), IsEmpty());
    const std::regex alert("- alert: (\\w+)");
    int alerts = 0;
    for (std::sregex_iterator it(rules.begin(), rules.end(), alert), end; it != end; ++it, ++alerts)
        EXPECT_THAT(docs, HasSubstr("\n| " + it->str(1) + " |"));
    EXPECT_GE(alerts, 15);
    EXPECT_EQ(std::count(docs.begin(), docs.end(), '\n') - 7, alerts) << "a row for each alert, and no other";
}

TEST(Monitoring, PromtoolTestsTheAlerts) {
    const auto tested = Subprocess({"promtool", "test", "rules",
                                    (fs::path(source_dir()) / "tests/unit/status/alerts_cases.yml").string()})
                            .wait();
    ASSERT_TRUE(tested.has_value());
    EXPECT_EQ(tested->status, 0) << tested->out << tested->err;
    const auto checked = Subprocess({"promtool", "check", "rules", monitoring("alerts.yml").string()}).wait();
    ASSERT_TRUE(checked.has_value());
    EXPECT_EQ(checked->status, 0) << checked->out << checked->err;
}

TEST(Monitoring, EveryPanelAsksForMetricsThatExist) {
    const auto dashboard = nlohmann::json::parse(*read_file(monitoring("dashboard.json")));
    int expressions = 0;
    for (const auto& panel : dashboard.at("panels")) {
        for (const auto& target : panel.at("targets")) {
            const std::string expression = target.at("expr");
            EXPECT_THAT(names_in(expression), testing::Not(IsEmpty())) << panel.at("title");
            EXPECT_THAT(unknown(expression), IsEmpty()) << panel.at("title");
            ++expressions;
        }
    }
    EXPECT_GE(expressions, 20);
}

TEST(Exporter, ListensForThisMachineOnly) {
    EXPECT_EQ(loopback_address("9188"), "127.0.0.1:9188");
    EXPECT_EQ(loopback_address("localhost:1"), "127.0.0.1:1");
    EXPECT_EQ(loopback_address("[::1]:65535"), "[::1]:65535");
    for (const char* wrong : {"", "0", "65536", "0.0.0.0:9188", "example.org:80", "::1", "127.0.0.1:", "9188x", "*:80"})
        EXPECT_EQ(loopback_address(wrong), "") << wrong;
}

}  // namespace
}  // namespace sluice::test
