// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Reads the facts of a ProjectSurvey: from the database, the job array, config.xml and the project's folder. What can't
// be read is left out, and the survey says so: a page about a project matters most while something is broken.
#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/project_config.h"
#include "daemons/status/project_survey.h"
#include "sluice/base/disk.h"
#include "sluice/db/database.h"

namespace sluice {

/// Whether clients can use a folder. A file system of a network may not answer for minutes: the page says so, and goes
/// on.
class FolderLook {
  public:
    explicit FolderLook(std::string path) : path_(std::move(path)) {}
    /// "" or why it can't be used. While a look waits for its answer, no other one begins.
    std::string error(std::chrono::milliseconds patience);

  private:
    std::string path_;
    std::future<DiskFacts> answer_;
};

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
    std::unique_ptr<HealthStore> health_;
    FolderLook uploads_, downloads_;
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
