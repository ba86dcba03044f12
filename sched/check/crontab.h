// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What cron does in a project: the crontab of its account, and the machine's.
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sched/check/finding.h"

namespace sluice {

struct CronCommand {
    std::string where;  ///< "crontab of boinc", "/etc/crontab"
    int line = 0;
    std::string command;
};

/// The commands of a crontab. `with_account`: a name stands behind the times, as in /etc/crontab.
std::vector<CronCommand> cron_commands(std::string_view text, const std::string& where, bool with_account);

/// What of it matters to a project that moves. Commands that do not name the project's folder are of no account.
std::vector<Finding> cron_findings(const std::vector<CronCommand>& commands, const std::filesystem::path& project);

/// All that this account can see. `unseen` is filled where it can't see the one of the project's account.
std::vector<CronCommand> read_crontabs(const std::string& account, std::string& unseen);

}  // namespace sluice
