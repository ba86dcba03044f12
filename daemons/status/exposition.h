// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Counts and facts as metrics of Prometheus. Pure. docs/metrics.md lists them.
#include <prometheus/metric_family.h>

#include <string>
#include <vector>

#include "daemons/status/project_survey.h"
#include "sluice/base/metrics.h"

namespace sluice {

struct ExpositionWords {
    std::vector<std::string> searches;  ///< names of why jobs were not looked for
    bool per_user = false;              ///< shares with the users' ids
};
/// `survey` may be null: nothing is known yet but counts.
std::vector<prometheus::MetricFamily> exposition(const MetricFiles& counts, const ProjectSurvey* survey,
                                                 const ExpositionWords& words);

}  // namespace sluice
