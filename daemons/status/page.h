// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The status page, as text. Pure. It loads nothing, needs no JavaScript, and names no volunteer. The admin's page says
// more: names of batches, reasons, errors. server_status.xml has the fields of upstream's server_status.php?xml=1.
#include <string>
#include <vector>

#include "daemons/status/history.h"
#include "daemons/status/project_survey.h"
#include "sluice/base/metrics.h"

namespace sluice {

inline constexpr int kStaleAfter = 300;  ///< s after which a page says that it is old

struct StatusPage {
    const ProjectSurvey& survey;
    const MetricFiles& counts;
    const History& history;
    bool for_admin = false;
};
std::string status_page(const StatusPage& page);
std::string server_status_xml(const ProjectSurvey& survey);

/// What is wrong, a sentence each; empty: the project is up.
std::vector<std::string> troubles(const ProjectSurvey& survey);

}  // namespace sluice
