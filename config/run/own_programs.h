// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Which files of a project's bin/ and cgi-bin/ are programs of Sluice. BOINC's tools/upgrade copies its own over them.
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

/// In a project that make_project made: the link to the folder that Sluice is installed in.
inline constexpr const char* kPrefixLink = "sluice";

/// In a project that `sluice adopt` moved: what was replaced, and a file that says how far the move has come.
inline constexpr const char* kReplacedFolder = "before-sluice";
inline constexpr std::string_view kAdoptedState = "adopted";

/// In a project whose hosts `sluice canary` divides: what that needs.
inline constexpr const char* kCanaryFolder = "sluice-canary";

/// What all programs of Sluice hold, as a part of the help of --check_arguments, and no entry.
inline constexpr std::string_view kOwnProgramText = "sluice_options --check asks daemons so.";

/// Of an entry that make_project wrote into bin/ or cgi-bin/ the installed program that it becomes; of any other file
/// that file itself.
std::filesystem::path installed_program(const std::filesystem::path& file);

/// A whole program of Sluice, no entry.
bool is_own_program_text(std::string_view bytes);
bool is_own_program(const std::filesystem::path& file);

/// An entry or a whole program of Sluice, or `sluice shadow --tee` before one.
bool is_ours(const std::filesystem::path& file);
/// What may run in an installation, as "bin/feeder", in order.
std::vector<std::string> programs_in(const std::filesystem::path& prefix);

struct ForeignPrograms {
    std::vector<std::string> names;  ///< "bin/feeder"; empty: all is well
    std::string line;                ///< what is so, what follows, and the command that puts ours back
    std::string command;             ///< the same command
};
/// In a project that make_project made, each program of its is ours. After `sluice adopt` those that it swapped are.
/// While `sluice canary` divides the hosts, both belong there. Elsewhere those that share the job array are, as soon as
/// one of them is.
ForeignPrograms foreign_programs(const std::filesystem::path& project);

}  // namespace sluice
