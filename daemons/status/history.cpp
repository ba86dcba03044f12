// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/status/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "sluice/base/text.h"

namespace sluice {
namespace {

constexpr std::string_view kHead = "sluice status history 1";
constexpr double kLargest = 1e15;

void add_requests(const MetricCell& cell, HistorySample& sample) {
    const auto n = static_cast<double>(cell.value);
    sample.of(Tracked::kRequests) += n;
    switch (static_cast<RequestOutcome>(cell.labels.small)) {
        case RequestOutcome::kJobs: sample.of(Tracked::kWithJobs) += n; break;
        case RequestOutcome::kNoJobs: sample.of(Tracked::kWithoutJobs) += n; break;
        case RequestOutcome::kRefused:
        case RequestOutcome::kUnavailable: sample.of(Tracked::kNotServed) += n; break;
        case RequestOutcome::kServed: break;
    }
}

HistorySample parse_line(std::string_view line) {
    HistorySample sample;
    const auto words = split(trim(line), ' ');
    if (words.size() != sample.values.size() + 1) return {};
    std::vector<double> numbers;
    for (const std::string_view word : words) {
        const auto number = parse_double(word);
        if (!number || !(*number >= 0 && *number <= kLargest)) return {};
        numbers.push_back(*number);
    }
    sample.time = numbers[0];
    std::copy(numbers.begin() + 1, numbers.end(), sample.values.begin());
    return sample;
}

}  // namespace

HistorySample sample_of(const ProjectSurvey& survey, const MetricFiles& counts) {
    HistorySample sample;
    sample.time = survey.now;
    for (const AppWork& a : survey.work) {
        sample.of(Tracked::kUnsent) += static_cast<double>(a.unsent);
        sample.of(Tracked::kInProgress) += static_cast<double>(a.in_progress);
        sample.of(Tracked::kToValidate) += static_cast<double>(a.to_validate);
        sample.of(Tracked::kToAssimilate) += static_cast<double>(a.to_assimilate);
    }
    if (survey.array) sample.of(Tracked::kInArray) = static_cast<double>(survey.array->present + survey.array->claimed);
    for (const ProgramMetrics& p : counts.programs) {
        for (const MetricCell& cell : p.cells) {
            if (cell.metric == Metric::kRequests) add_requests(cell, sample);
            if (cell.metric == Metric::kJobsSent) sample.of(Tracked::kJobsSent) += static_cast<double>(cell.value);
            if (cell.metric == Metric::kReported) sample.of(Tracked::kReported) += static_cast<double>(cell.value);
        }
    }
    for (double& value : sample.values) value = std::clamp(value, 0.0, kLargest);
    return sample;
}

History History::parse(std::string_view text) {
    History history;
    if (!text.starts_with(kHead)) return history;
    for (const std::string_view line : split(text.substr(kHead.size()), '\n')) {
        const HistorySample sample = parse_line(line);
        if (sample.time > 0) history.add(sample);
    }
    return history;
}

std::string History::text() const {
    std::string text(kHead);
    for (const HistorySample& s : samples_) {
        fmt::format_to(std::back_inserter(text), "\n{:.0f}", s.time);
        for (const double value : s.values) fmt::format_to(std::back_inserter(text), " {:.0f}", value);
    }
    return text + "\n";
}

bool History::update(const HistorySample& sample) {
    const std::size_t n = samples_.size();
    const bool moves_on = n >= 2 && sample.time > samples_[n - 2].time && sample.time < samples_[n - 2].time + kEvery;
    if (moves_on) samples_.pop_back();
    add(sample);
    return !moves_on;
}

void History::add(const HistorySample& sample) {
    while (!samples_.empty() && samples_.back().time >= sample.time) samples_.pop_back();
    samples_.push_back(sample);
    if (samples_.size() > kMost) samples_.erase(samples_.begin());
}

std::vector<std::pair<double, double>> History::values(Tracked what, double from) const {
    std::vector<std::pair<double, double>> points;
    for (const HistorySample& s : samples_)
        if (s.time >= from) points.emplace_back(s.time, s.of(what));
    return points;
}

std::vector<std::pair<double, double>> History::per_hour(Tracked what, double from) const {
    std::vector<std::pair<double, double>> points;
    for (std::size_t i = 1; i < samples_.size(); ++i) {
        const HistorySample &before = samples_[i - 1], &s = samples_[i];
        // A value is the sum of several programs' counts. It falls when one of their files begins anew; how much the
        // others grew meanwhile, it does not say.
        const double growth = s.of(what) - before.of(what);
        if (s.time >= from && growth >= 0) points.emplace_back(s.time, growth * 3600 / (s.time - before.time));
    }
    return points;
}

}  // namespace sluice
