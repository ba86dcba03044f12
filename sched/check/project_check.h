// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What is wrong with a project before Sluice's programs run it: found with the functions by which the programs read the
// same files, so that nothing that one of them refuses passes here.
#include <string>

#include "sched/check/finding.h"

namespace sluice {

struct CheckScope {
    bool database = true;
    bool move = false;  ///< also what matters to who moves from BOINC's programs: differences, crontab, web pages …
};

/// `given`: the project's folder, or a config.xml; of a file of another name only the text is checked. Changes nothing.
ProjectFindings check_project(const std::string& given, CheckScope scope);

}  // namespace sluice
