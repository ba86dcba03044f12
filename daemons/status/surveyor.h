// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Reads the facts of a ProjectSurvey: from the database, the job array, config.xml and the project's folder. What can't
// be read is left out, and the survey says so: a page about a project matters most while something is broken.
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/project_config.h"
#include "daemons/status/project_survey.h"
#include "sluice/db/database.h"

namespace sluice {

class Surveyor {
  public:
    /// Both outlive it.
    Surveyor(const ProjectConfig& config, Database& db);
    ProjectSurvey read(double now);

  private:
    void read_database(ProjectSurvey& survey);
    void read_seldom(double now);
    void read_shares(ProjectSurvey& survey);

    const ProjectConfig& config_;
    Database& db_;
    std::unique_ptr<SurveyStore> store_;
    /// What costs more, and changes little.
    struct Seldom {
        double read_at = 0, next = 0;
        std::vector<AppDay> last_day;
        Community community;
        std::string server_version;
    };
    std::optional<Seldom> seldom_;
    std::map<Id, std::string> app_names_;
    double first_read_ = 0;
};

}  // namespace sluice
