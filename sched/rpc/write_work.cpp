// SPDX-License-Identifier: LGPL-3.0-or-later
// The work of a reply: what the client merges by name (apps, files, versions, workunits) once each, then the results.
#include "sched/rpc/write_work.h"

#include <fmt/format.h>

#include <unordered_set>

#include "sched/rpc/documents.h"
#include "sluice/base/text.h"
#include "sluice/model/catalogue.h"

namespace sluice {
namespace rpc {
namespace {

Mirrors mirrors_for(const SchedulerReply& reply) {
    Mirrors mirrors;
    if (reply.replace_download_url.empty()) return mirrors;
    mirrors.replace = reply.replace_download_url;
    mirrors.bases = sort_mirrors(reply.download_servers, reply.host.timezone, reply.host.id);
    const auto most = static_cast<std::size_t>(std::max(reply.max_download_urls_per_file, 0));
    if (most > 0 && mirrors.bases.size() > most) mirrors.bases.resize(most);
    return mirrors;
}

std::string app_element(const App& app) {
    return fmt::format(
        "<app>\n    <name>{}</name>\n    <user_friendly_name>{}</user_friendly_name>\n"
        "    <non_cpu_intensive>{:d}</non_cpu_intensive>\n    <fraction_done_exact>{:d}</fraction_done_exact>\n</app>\n",
        app.name, app.user_friendly_name, app.non_cpu_intensive, app.fraction_done_exact);
}

}  // namespace

void write_work(std::string& out, const SchedulerReply& reply) {
    const Mirrors mirrors = mirrors_for(reply);
    std::unordered_set<Id> apps, versions, workunits;
    // An anonymous-platform client has its own apps and versions and refuses ours.
    for (const ReplyJob& job : reply.jobs) {
        if (job.app && job.app_version && !job.version.anonymous && apps.insert(job.app->id).second)
            out += app_element(*job.app);
    }
    for (const ReplyJob& job : reply.jobs) {
        if (!job.app_version || job.version.anonymous || !versions.insert(job.app_version->id).second) continue;
        if (const auto document = app_version_document(job, reply.client_version))
            out += replace_download_urls(*document, mirrors);
    }
    for (const ReplyJob& job : reply.jobs) {
        if (!workunits.insert(job.workunit_id).second) continue;
        if (const auto document = workunit_document(job)) out += replace_download_urls(*document, mirrors) + "\n";
    }
    for (const ReplyJob& job : reply.jobs) {
        if (const auto document = result_document(job)) out += *document;
    }
}

}  // namespace rpc

Verdict can_send(const ReplyJob& job) {
    const auto broken = [](Reason reason, const std::string& xml) {
        return refuse(reason, static_cast<double>(xml.size()));
    };
    const std::string none;
    const std::string& version = job.app_version ? job.app_version->xml_doc : none;
    if (!job.version.anonymous && !is_whole(version, "app_version")) return broken(Reason::kVersionDocument, version);
    if (!is_whole(job.wu_xml, "workunit")) return broken(Reason::kWorkunitDocument, job.wu_xml);
    if (!is_whole(job.result_xml, "result")) return broken(Reason::kResultDocument, job.result_xml);
    return feasible();
}

}  // namespace sluice
