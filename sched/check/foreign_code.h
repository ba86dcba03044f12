// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Code of the project's own that stays when the programs are swapped: programs that were linked with BOINC's server
// library, and web pages that run programs.
#include <filesystem>
#include <string_view>
#include <vector>

#include "config/load.h"
#include "sched/check/finding.h"

namespace sluice {

/// Whether a program was linked with BOINC's server library: it names the shared one, or holds the names of its
/// classes, and not Sluice's library for projects, which has classes of these names, too. Read in stretches; of very
/// large files only the first 256 MB.
bool is_linked_with_boinc(const std::filesystem::path& program);

/// The programs of daemons and tasks that adopt leaves as they are, and that read the database by BOINC's library.
std::vector<Finding> linked_programs(const std::filesystem::path& bin, const DaemonsAndTasks& entries);

/// The names of programs of bin/ that a PHP page runs: "bin/NAME", not below another folder.
std::vector<std::string> programs_run_by(std::string_view page);

/// Of all pages below html/: programs that are not there, and those that adopt swaps.
std::vector<Finding> page_findings(const std::filesystem::path& project);

}  // namespace sluice
