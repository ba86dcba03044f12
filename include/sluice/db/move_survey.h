// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What of a project's data matters to who moves from BOINC's programs to ours: counts, read only.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sluice/db/database.h"

namespace sluice {

struct MoveSurvey {
    std::map<std::string, std::int64_t> counts;  ///< by the id of a question; only those above 0
    std::vector<std::string> not_counted;        ///< ids of questions that took too long, or name what is not there
    std::vector<std::string> result_templates;   ///< files that the newest workunits name
};

/// Of large tables only the newest rows are looked at.
inline constexpr std::int64_t kMoveSurveyRows = 100000;

/// All ids of questions.
std::vector<std::string> move_survey_ids();

/// Throws DbError if the server cannot be asked at all.
MoveSurvey survey_for_move(Database& db);

}  // namespace sluice
