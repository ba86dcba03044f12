// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What is said where cgi-bin/cgi (sched/relay) does not reach the resident scheduler.
#include <filesystem>
#include <string>

#include "sluice/base/users.h"

namespace sluice {

struct ConnectFailure {
    std::string what;     ///< path, account and reason
    std::string command;  ///< mends it; to be run as root
};
/// `error`: of Resident::connect(); `web`: the account that tried.
ConnectFailure connect_failure(const std::filesystem::path& project, int error, const SystemUser& web);

/// One line of the log an hour, whatever the number of processes: the relay could not hand on this request, and has
/// become this process. Nothing where the relay did not say so.
void report_unreached(const std::filesystem::path& project);

}  // namespace sluice
