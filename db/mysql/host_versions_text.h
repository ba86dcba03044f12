// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The rows of host_app_version that a host has, as one text beside its own row: a statement of their own would cost
// more than reading them, a join would repeat the host and its account's preferences for each of them, and a UNION with
// so many columns is slower than two statements (measured).
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "sluice/model/records.h"

namespace sluice {

/// A column of a SELECT whose table of hosts is called h. The server writes a double as it does in a result set: what
/// is read is what is stored.
#define SLUICE_VERSIONS_TEXT                                                                                           \
    "(SELECT GROUP_CONCAT(v.app_version_id,',',v.pfc_n,',',v.pfc_avg,',',v.et_n,',',v.et_avg,',',v.et_var,',',v.et_q," \
    "',',v.max_jobs_per_day,',',v.n_jobs_today,',',v.turnaround_n,',',v.turnaround_avg,',',v.turnaround_var,',',"      \
    "v.turnaround_q,',',v.consecutive_valid,';' SEPARATOR '') FROM host_app_version v WHERE v.host_id=h.id)"

/// What a session sets group_concat_max_len to (MySQL's default is 1024): some ten thousand rows.
inline constexpr std::size_t kLongestVersionsText = 1u << 20;

/// nullopt: the server cut it.
std::optional<std::vector<HostAppVersion>> read_versions_text(Id hostid, std::string_view text);

}  // namespace sluice
