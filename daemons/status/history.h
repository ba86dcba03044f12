// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What the status page shows over time: a sample every five minutes, for a week. The file is of bounded size, and
// written whole or not at all.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemons/status/project_survey.h"
#include "sluice/base/metrics.h"

namespace sluice {

enum class Tracked {
    // as it was
    kUnsent,
    kInProgress,
    kToValidate,
    kToAssimilate,
    kInArray,
    // counted up to then
    kRequests,
    kWithJobs,
    kWithoutJobs,
    kNotServed,  ///< refused, or nothing could be done
    kJobsSent,
    kReported,
    kCount
};

struct HistorySample {
    double time = 0;  ///< UNIX s
    std::array<double, static_cast<std::size_t>(Tracked::kCount)> values{};
    double of(Tracked what) const { return values[static_cast<std::size_t>(what)]; }
    double& of(Tracked what) { return values[static_cast<std::size_t>(what)]; }
};
HistorySample sample_of(const ProjectSurvey& survey, const MetricFiles& counts);

class History {
  public:
    static constexpr double kEvery = 300;  ///< s
    static constexpr std::size_t kMost = 2016;

    /// Lines that are no samples, or not in order, are left out.
    static History parse(std::string_view text);
    std::string text() const;
    void add(const HistorySample& sample);
    /// The newest sample moves on with time until it is kEvery after the one before; then the next one begins. Whether
    /// it did.
    bool update(const HistorySample& sample);
    /// Since `from`, by time.
    std::vector<std::pair<double, double>> values(Tracked what, double from) const;
    /// A counter's growth an hour; no point where it was set back.
    std::vector<std::pair<double, double>> per_hour(Tracked what, double from) const;
    const std::vector<HistorySample>& samples() const { return samples_; }

  private:
    std::vector<HistorySample> samples_;
};

}  // namespace sluice
