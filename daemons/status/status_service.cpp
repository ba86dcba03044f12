// SPDX-License-Identifier: LGPL-3.0-or-later
// What can't be written keeps nothing else from being written.
#include "daemons/status/status_service.h"

#include <utility>

#include "daemons/status/page.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/base/project.h"

namespace sluice {
namespace {

constexpr std::size_t kMostHistory = 1 << 20;
constexpr int kForAll = 0644, kForAdmins = 0640;

void write_or_say(const fs::path& file, const std::string& text, int mode) {
    try {
        write_file_atomically(file, text, mode);
    } catch (const FileError& e) {
        log_once_an_hour(LogLevel::kCritical, std::string(e.what()) + "; trying again at each turn");
    }
}

/// One that can't be read, or is none, begins anew.
History read_history(const fs::path& file) {
    try {
        return History::parse(read_file(file, kMostHistory).value_or(""));
    } catch (const FileError& e) {
        log_warning("{}; the history of the status page begins anew", e.what());
        return {};
    }
}

}  // namespace

StatusService::StatusService(StatusSettings settings, Surveyor& surveyor, Exporter& exporter, const Clock& clock)
    : Service(settings.every),
      settings_(std::move(settings)),
      surveyor_(surveyor),
      exporter_(exporter),
      clock_(clock),
      history_file_(log_dir(settings_.project) / "status_history"),
      history_(read_history(history_file_)) {}

Turn StatusService::turn() {
    ProjectSurvey survey = surveyor_.read(clock_.now());
    const MetricFiles counts = read_metrics(settings_.project);
    // What is not known while the database is away is no zero: it leaves a gap.
    if (survey.database) keep_history(survey, counts);
    write_pages(survey, counts);
    exporter_.publish(std::move(survey));
    if (!settings_.textfile.empty()) write_or_say(settings_.textfile, exporter_.text(), kForAll);
    return idle();
}

void StatusService::keep_history(const ProjectSurvey& survey, const MetricFiles& counts) {
    if (history_.update(sample_of(survey, counts))) write_or_say(history_file_, history_.text(), kForAdmins);
}

void StatusService::write_pages(const ProjectSurvey& survey, const MetricFiles& counts) {
    if (!settings_.pages.empty()) {
        write_or_say(settings_.pages / "status.html", status_page({survey, counts, history_}), kForAll);
        // Who reads this file takes zeroes for the truth: the last known figures stay.
        if (survey.database) write_or_say(settings_.pages / "server_status.xml", server_status_xml(survey), kForAll);
    }
    if (!settings_.admins_page.empty())
        write_or_say(settings_.admins_page / "status.html", status_page({survey, counts, history_, true}), kForAll);
}

}  // namespace sluice
