// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// status_page as a service: once a minute it surveys the project, hands out what it found, and writes the pages.
#include <filesystem>
#include <string>

#include "daemons/status/exporter.h"
#include "daemons/status/history.h"
#include "daemons/status/surveyor.h"
#include "sluice/base/clock.h"
#include "sluice/daemon/service.h"

namespace sluice {

struct StatusSettings {
    double every = 60;  ///< s
    std::filesystem::path project;
    std::filesystem::path textfile;            ///< for node_exporter; empty: none
    std::filesystem::path pages, admins_page;  ///< folders; empty: none
};

class StatusService final : public Service {
  public:
    /// All outlive it.
    StatusService(StatusSettings settings, Surveyor& surveyor, Exporter& exporter, const Clock& clock);
    Turn turn() override;

  private:
    void write_pages(const ProjectSurvey& survey, const MetricFiles& counts);
    void keep_history(const ProjectSurvey& survey, const MetricFiles& counts);

    StatusSettings settings_;
    Surveyor& surveyor_;
    Exporter& exporter_;
    const Clock& clock_;
    std::filesystem::path history_file_;
    History history_;
};

}  // namespace sluice
