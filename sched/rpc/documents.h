// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Merging of what the database holds of a job (documents of app version, workunit, result) with what was decided about
// it. Pure text functions; upstream behaviour in layout, because clients before 4.20 read by line.
#include <optional>
#include <string>

#include "sched/rpc/reply.h"

namespace sluice::rpc {

/// <file_info>… <app_version> with platform, plan class and usage. nullopt: no whole <app_version> element.
std::optional<std::string> app_version_document(const ReplyJob& job, int client_version);
/// <file_info>… <workunit> with bounds, name, app and, for BUDA, the variant. nullopt: no whole <workunit> element.
std::optional<std::string> workunit_document(const ReplyJob& job);
/// <file_info>… <result> with deadline, names and version. nullopt: no whole <result> element.
std::optional<std::string> result_document(const ReplyJob& job);

/// Download mirrors by time zone.
struct Mirrors {
    std::string replace;             ///< an <url> with this text gets the mirrors instead; empty: off
    std::vector<std::string> bases;  ///< nearest first, already cut to max_download_urls_per_file
};
/// Nearest (around the globe) to `timezone` first, ties in an order that differs from host to host.
std::vector<std::string> sort_mirrors(const std::vector<std::pair<int, std::string>>& servers, int timezone, Id hostid);
/// Each <url> that contains mirrors.replace becomes one <url> for each mirror.
std::string replace_download_urls(const std::string& document, const Mirrors& mirrors);

}  // namespace sluice::rpc
