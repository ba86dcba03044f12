// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Which rows of docs/compat.md a project's data and configuration can meet at compat_level 0. Only programs that
// `sluice adopt` puts into a project are asked about.
#include <filesystem>
#include <span>

#include "config/load.h"
#include "config/project_config.h"
#include "sched/check/finding.h"
#include "sluice/db/move_survey.h"

namespace sluice {

struct DifferenceRow {
    const char* id;  ///< of a question of MoveSurvey, or of a fact of the configuration
    FindingGroup group;
    const char* what;    ///< the project's side
    const char* sluice;  ///< a sentence
    const char* row;     ///< how the row of docs/compat.md begins
    bool counted;        ///< `what` is followed by the number
};
std::span<const DifferenceRow> difference_rows();

/// Facts of config.xml and the files beside it, by id: how many there are.
std::map<std::string, std::int64_t> configured_facts(const std::filesystem::path& project, const ProjectConfig& config,
                                                     const DaemonsAndTasks& entries);

/// One finding for each row that the counts meet.
std::vector<Finding> difference_findings(const std::map<std::string, std::int64_t>& counts);

}  // namespace sluice
