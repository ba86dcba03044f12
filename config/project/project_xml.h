// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "sluice/model/catalogue.h"

namespace sluice {

/// PROJECT/project.xml: what xadd puts into the database.
struct ProjectXml {
    std::vector<Platform> platforms;
    std::vector<App> apps;
};

/// <boinc> with <platform> (name, user_friendly_name) and <app> (these and any column of the table app that
/// admins set: min_version, weight, beta, n_size_classes …). Throws ConfigError that names file, element and
/// what is allowed.
ProjectXml parse_project_xml(std::string_view text, const std::string& name);

/// One "NAME=VALUE" of a command line: NAME as in project.xml.
struct Setting {
    std::string name, value;
};
/// The app with these settings; others stay. Throws ConfigError as parse_project_xml() does.
App with_settings(App app, const std::vector<Setting>& settings);

}  // namespace sluice
