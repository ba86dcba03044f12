// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Looks at a project and changes nothing. What takes longer than its time is left out: a monitor does not wait.
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "config/load.h"
#include "sched/health/facts.h"
#include "sluice/base/clock.h"

namespace sluice {

struct HealthOptions {
    std::filesystem::path project;
    double patience = 0.9;  ///< s for the database and both requests together
    bool scheduler = true;  ///< send the scheduler and the upload handler a request
};

HealthFacts gather_health(const HealthOptions& options, const Clock& clock);

// The parts of it.

/// Daemons, tasks, keys, logs: what files and processes of this host tell.
void look_at_host(const std::filesystem::path& project, const LoadedConfig& loaded, const DaemonsAndTasks& entries,
                  HealthFacts& facts);
/// What the database has answered so far; whoever runs out of patience takes that.
struct AnswersSoFar {
    std::mutex mutex;
    DatabaseFacts facts;
};
/// Some thirty small statements at most. Never throws.
void look_at_database(const ProjectConfig& config, const DaemonsAndTasks& entries, double now, AnswersSoFar& answers);
/// What an HTTP server says.
struct UrlAnswer {
    std::string error;          ///< not empty: there was no answer of a scheduler
    std::string reply;          ///< at most 8 KB
    bool project_down = false;  ///< it answers that the project is down
    std::optional<double> certificate_ends;
};
UrlAnswer ask_scheduler(const std::string& url, double patience);
/// Asks the upload handler at that URL whether a file could be uploaded. "" or why not.
std::string ask_for_uploads(const std::string& url, double patience);
/// What clients are told by the project's page; where it tells nothing, that folder of upload_url where project.xml and
/// the web server's fragment put both programs. Empty: nobody knows.
std::string scheduler_url(const std::filesystem::path& project, const ProjectConfig& config);
/// As the web server's account. "" or what is wrong, and the command.
std::string try_relay(const std::filesystem::path& project, const ProjectConfig& config);

}  // namespace sluice
