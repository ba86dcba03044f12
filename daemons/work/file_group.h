// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Which file's group a job is in: hosts that have the file get the group's jobs (docs/locality.md).
#include <string>

#include "daemons/work/job_options.h"
#include "sluice/model/records.h"

namespace sluice {

/// --file_group, checked: throws ConfigError unless it is a sticky input file of a job that locality may choose.
std::string given_file_group(const JobOptions& options, const Workunit& workunit, const App& app);
/// "": the workunit has no sticky input file. Of two of one size the first.
std::string largest_sticky_input(const Workunit& workunit);

}  // namespace sluice
