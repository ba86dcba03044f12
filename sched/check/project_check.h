// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What is wrong with a project before Sluice's programs run it: found with the functions by which the programs read the
// same files, so that nothing that one of them refuses passes here.
#include <filesystem>
#include <string>
#include <vector>

namespace sluice {

/// One line each, with the remedy.
struct ProjectFindings {
    std::filesystem::path file;  ///< the config.xml
    std::vector<std::string> errors, warnings;
    std::vector<std::string> notes;  ///< what could not be looked at
    bool readable = true;            ///< false: config.xml itself could not be read; `errors` says why
};

/// `given`: the project's folder, or a config.xml; of a file of another name only the text is checked. Changes nothing.
ProjectFindings check_project(const std::string& given, bool database);

}  // namespace sluice
