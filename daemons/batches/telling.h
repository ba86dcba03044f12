// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Tells owners what happened to their batches: a command of the admin's, and mails. What is told is marked right after
// it: a kill in between makes one event told twice, and none is lost.
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "config/project_config.h"
#include "sluice/base/clock.h"
#include "sluice/base/mail.h"
#include "sluice/base/process.h"
#include "sluice/db/batch_watch_store.h"

namespace sluice {

/// As config.xml says.
struct TellingSettings {
    std::string project = {};  ///< its long name
    std::filesystem::path folder = {};
    std::vector<std::string> command = {};  ///< empty: none; the program with its folder
    bool mail_owner = false;
    std::vector<std::string> addresses = {};  ///< beside the owner's
    std::string sendmail = {};
    bool any() const { return !command.empty() || mail_owner || !addresses.empty(); }
};
/// Throws ConfigError for an address, or a command, that can't be.
TellingSettings telling_settings(const ProjectConfig& config);

/// What the command gets beside its own words: EVENT BATCH.
std::vector<std::string> command_line_of(const TellingSettings& settings, const EventToTell& event);
/// "SLUICE_BATCH_NAME=…": values are as people wrote them, without line breaks.
std::vector<std::string> environment_of(const TellingSettings& settings, const EventToTell& event);
/// Without readers if there is nobody to write to.
Mail mail_of(const TellingSettings& settings, const EventToTell& event);

class BatchTelling {
  public:
    static constexpr double kCommandLimit = 30;  ///< s
    /// s of a pass after which no other event is begun: the other services of `batches` wait meanwhile.
    static constexpr double kLongestPass = 30;

    /// All outlive it.
    BatchTelling(TellingSettings settings, BatchEventStore& events, const Clock& clock)
        : settings_(std::move(settings)), events_(events), clock_(clock) {}
    const TellingSettings& settings() const { return settings_; }
    /// Tells what is due; what fails is due again later.
    void pass();

  private:
    /// "" or what failed.
    std::string tell(EventToTell& event) const;

    TellingSettings settings_;
    BatchEventStore& events_;
    const Clock& clock_;
};

}  // namespace sluice
