// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Locality by groups of files (docs/locality.md). A host that has a group's file gets jobs of the group even if the
// array holds none. It deletes the file when the group's work is over.
#include <string>
#include <vector>

#include "sched/handle/rpc.h"

namespace sluice {

/// At most so many files of groups that are over are named in a reply.
inline constexpr std::size_t kMaxFilesToDelete = 20;

/// Puts unsent jobs of groups whose files the host has into the RPC's pool, unless the array holds enough of them. It
/// costs one statement, or none for a host without such files.
void load_group_jobs(const Rpc& rpc);

/// Files of the host of which the server knows that their groups are over, in its own words.
std::vector<std::string> files_of_past_groups(const ProjectTables& tables, const std::vector<StickyFile>& files,
                                              std::int64_t now);

}  // namespace sluice
