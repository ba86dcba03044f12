// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/rpc/documents.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "sluice/base/hash.h"
#include "sluice/base/text.h"
#include "sluice/model/catalogue.h"

namespace sluice::rpc {
namespace {

const char* client_gpu_name(ProcType type, int client_version) {
    return type == ProcType::kNvidia && client_version < 70000 ? "CUDA" : proc_type_name(type);
}

std::string coproc_element(std::string_view type, double count) {
    return fmt::format("    <coproc>\n        <type>{}</type>\n        <count>{:.6f}</count>\n    </coproc>\n", type,
                       count);
}

std::string usage_elements(const HostUsage& usage) {
    std::string out = fmt::format("    <avg_ncpus>{:.6f}</avg_ncpus>\n    <flops>{:.6f}</flops>\n", usage.avg_ncpus,
                                  usage.projected_flops);
    return out;
}

std::string cmdline_element(const HostUsage& usage) {
    return usage.cmdline.empty() ? "" : fmt::format("    <cmdline>{}</cmdline>\n", usage.cmdline);
}

/// The element's start tag and a line feed, at any place in `document`: position just behind them. A start tag without
/// line feed gets one.
std::size_t behind_start_tag(std::string& document, std::string_view tag) {
    const auto at = document.find(tag);
    if (at == std::string::npos) return at;
    std::size_t behind = at + tag.size();
    if (document.compare(behind, 2, "\r\n") == 0) document.erase(behind, 1);
    if (document.compare(behind, 1, "\n") != 0) document.insert(behind, "\n");
    return behind + 1;
}

std::string bounds_and_names(const ReplyJob& job) {
    const double memory = job.version.usage.mem_usage > 0 ? job.version.usage.mem_usage : job.rsc_memory_bound;
    std::string out = fmt::format(
        "    <rsc_fpops_est>{:.6f}</rsc_fpops_est>\n"
        "    <rsc_fpops_bound>{:.6f}</rsc_fpops_bound>\n"
        "    <rsc_memory_bound>{:.6f}</rsc_memory_bound>\n"
        "    <rsc_disk_bound>{:.6f}</rsc_disk_bound>\n"
        "    <name>{}</name>\n"
        "    <app_name>{}</app_name>\n",
        job.rsc_fpops_est * job.version.fpops_scale, job.rsc_fpops_bound * job.version.fpops_scale, memory,
        job.rsc_disk_bound, job.wu_name, job.app ? job.app->name : "");
    if (!job.keywords.empty()) out += fmt::format("    <job_keyword_ids>{}</job_keyword_ids>\n", job.keywords);
    return out;
}

/// Usage and files of a BUDA variant, which the version of the wrapper app can't know.
void add_buda_variant(std::string& document, const ReplyJob& job) {
    const auto end = document.rfind("</workunit>");
    const HostUsage& usage = job.version.usage;
    std::string tail = usage_elements(usage);
    if (usage.proc_type != ProcType::kCpu) tail += coproc_element(proc_type_name(usage.proc_type), usage.gpu_usage);
    tail += cmdline_element(usage) + job.buda_file_refs;
    document.insert(end, tail);
    document.insert(document.find("<workunit>"), job.buda_file_infos);
}

}  // namespace

std::optional<std::string> app_version_document(const ReplyJob& job, int client_version) {
    const std::string& xml = job.app_version->xml_doc;
    if (!is_whole(xml, "app_version")) return std::nullopt;
    const auto end = xml.find("</app_version>");
    const HostUsage& usage = job.version.usage;
    std::string out = xml.substr(0, end);
    out += fmt::format("    <platform>{}</platform>\n", job.platform_name);
    if (!job.version.plan_class.empty())
        out += fmt::format("    <plan_class>{}</plan_class>\n", job.version.plan_class);
    out += usage_elements(usage) + cmdline_element(usage);
    if (usage.proc_type != ProcType::kCpu)
        out += coproc_element(client_gpu_name(usage.proc_type, client_version), usage.gpu_usage);
    if (!usage.custom_coproc_type.empty()) out += coproc_element(usage.custom_coproc_type, usage.gpu_usage);
    if (usage.gpu_ram > 0) out += fmt::format("    <gpu_ram>{:.6f}</gpu_ram>\n", usage.gpu_ram);
    return out + "</app_version>\n";
}

std::optional<std::string> workunit_document(const ReplyJob& job) {
    std::string out = job.wu_xml;
    const auto at = behind_start_tag(out, "<workunit>");
    if (at == std::string::npos || out.find("</workunit>", at) == std::string::npos) return std::nullopt;
    out.insert(at, bounds_and_names(job));
    if (job.is_buda) add_buda_variant(out, job);
    return out;
}

std::optional<std::string> result_document(const ReplyJob& job) {
    std::string out = job.result_xml;
    const auto at = behind_start_tag(out, "<result>");
    if (at == std::string::npos) return std::nullopt;
    const auto end = out.find("</result>", at);
    if (end == std::string::npos) return std::nullopt;
    out.resize(end);
    out.insert(at, fmt::format("<report_deadline>{}</report_deadline>\n<wu_name>{}</wu_name>\n<name>{}</name>\n",
                               job.report_deadline, job.wu_name, job.result_name));
    if (job.report_immediately) out += "\n    <report_immediately/>";
    out += fmt::format(
        "\n    <platform>{}</platform>\n    <version_num>{}</version_num>\n    <plan_class>{}</plan_class>\n</result>\n",
        job.platform_name, job.version.version_num, job.version.plan_class);
    return out;
}

std::vector<std::string> sort_mirrors(const std::vector<std::pair<int, std::string>>& servers, int timezone,
                                      Id hostid) {
    struct Ranked {
        std::int64_t distance;
        long shuffle;
        std::string base;
    };
    constexpr std::int64_t kHalfDay = 12 * 3600;
    std::vector<Ranked> ranked;
    for (const auto& [offset, base] : servers) {
        std::int64_t distance = std::llabs(std::int64_t{timezone} - offset);
        if (distance > kHalfDay) distance = std::llabs(2 * kHalfDay - distance);
        const std::string hash = md5_hex(base + std::to_string(hostid)).substr(1, 7);
        ranked.push_back({distance, std::strtol(hash.c_str(), nullptr, 16), base});
    }
    std::ranges::stable_sort(ranked, {}, [](const Ranked& r) { return std::pair(r.distance, r.shuffle); });
    std::vector<std::string> out;
    for (Ranked& r : ranked) out.push_back(std::move(r.base));
    return out;
}

std::string replace_download_urls(const std::string& document, const Mirrors& mirrors) {
    if (mirrors.replace.empty() || mirrors.bases.empty()) return document;
    constexpr std::string_view kOpen = "<url>", kClose = "</url>";
    std::string out;
    std::size_t done = 0;
    for (;;) {
        const auto open = document.find(kOpen, done);
        const auto close = open == std::string::npos ? open : document.find(kClose, open);
        if (close == std::string::npos) break;
        const std::size_t behind = close + kClose.size();
        const std::string_view url =
            trim(std::string_view(document).substr(open + kOpen.size(), close - open - kOpen.size()));
        out.append(document, done, open - done);
        const auto match = url.find(mirrors.replace);
        std::string urls;
        if (match != std::string_view::npos) {
            const std::string_view path = url.substr(match + mirrors.replace.size());
            for (const std::string& base : mirrors.bases)
                urls += fmt::format("{}<url>{}{}</url>", urls.empty() ? "" : "\n    ", base, path);
        }
        out += urls.empty() ? document.substr(open, behind - open) : urls;
        done = behind;
    }
    return out.append(document, done);
}

}  // namespace sluice::rpc
