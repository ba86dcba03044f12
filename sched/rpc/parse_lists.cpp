// SPDX-License-Identifier: LGPL-3.0-or-later
// What the host holds: platforms, app versions, jobs, sticky files; and its keywords. Every list is bounded; what is
// over the bound is read and dropped.
#include <algorithm>

#include "sched/rpc/fields.h"
#include "sched/rpc/parse_parts.h"

namespace sluice::rpc {
namespace {

template <typename T>
void add(std::vector<T>& list, T value, std::size_t limit) {
    if (list.size() < limit) list.push_back(std::move(value));
}

constexpr Field<RequestAppVersion> kAppVersionFields[] = {
    {"app_name", &RequestAppVersion::app_name},     {"platform", &RequestAppVersion::platform},
    {"plan_class", &RequestAppVersion::plan_class}, {"version_num", &RequestAppVersion::version_num},
    {"avg_ncpus", &RequestAppVersion::avg_ncpus},   {"flops", &RequestAppVersion::flops},
};
constexpr Field<RequestAppVersion> kAppVersionCoprocFields[] = {
    {"type", &RequestAppVersion::coproc_type},
    {"count", &RequestAppVersion::coproc_count},
};
constexpr Field<OtherResult> kOtherResultFields[] = {
    {"name", &OtherResult::name},
    {"plan_class", &OtherResult::plan_class, 63},
    {"app_version", &OtherResult::app_version},
};
constexpr Field<StickyFile> kFileFields[] = {
    {"name", &StickyFile::name},
    {"nbytes", &StickyFile::nbytes},
    {"status", &StickyFile::status},
    {"sticky", &StickyFile::sticky},
};
constexpr Field<InProgressResult> kInProgressFields[] = {
    {"name", &InProgressResult::name},
    {"report_deadline", &InProgressResult::report_deadline},
    // Upstream's servers look for the first, clients since 6.x send the second.
    {"cpu_time_remaining", &InProgressResult::remaining},
    {"time_remaining", &InProgressResult::remaining},
    {"avg_ncpus", &InProgressResult::ncpus},
};
constexpr struct {
    std::string_view tag;
    ProcType type;
} kGpuUsageTags[] = {{"ncudas", ProcType::kNvidia},
                     {"natis", ProcType::kAmd},
                     {"nintel_gpus", ProcType::kIntelGpu},
                     {"napple_gpus", ProcType::kAppleGpu}};

RequestAppVersion parse_app_version(XmlReader& xml) {
    RequestAppVersion version;
    while (xml.next_child("app_version")) {
        if (xml.name() == "coproc") {
            while (xml.next_child("coproc")) {
                if (!read_field(xml, version, kAppVersionCoprocFields)) xml.skip();
            }
            if (version.coproc_type.empty() || version.coproc_count <= 0) version.syntax_error = true;
        } else if (!read_field(xml, version, kAppVersionFields)) {
            xml.skip();
        }
    }
    if (version.avg_ncpus <= 0) version.avg_ncpus = 1;
    if (version.flops < 0) version.flops = 0;
    if (version.app_name.empty()) version.syntax_error = true;
    return version;
}

bool read_gpu_usage(XmlReader& xml, InProgressResult& job) {
    for (const auto& [tag, type] : kGpuUsageTags) {
        if (tag != xml.name()) continue;
        read_number(xml, job.gpu_usage[static_cast<std::size_t>(type)]);
        return true;
    }
    return false;
}

}  // namespace

void parse_alt_platform(XmlReader& xml, ParseState& state) {
    std::string name;
    while (xml.next_child("alt_platform")) {
        if (xml.name() == "name") {
            read_text(xml, name, kShortText);
        } else {
            xml.skip();
        }
    }
    if (!name.empty()) add(state.request.alt_platforms, std::move(name), state.limits.max_platforms);
}

void parse_app_versions(XmlReader& xml, ParseState& state) {
    while (xml.next_child("app_versions")) {
        if (xml.name() == "app_version") {
            add(state.request.app_versions, parse_app_version(xml), state.limits.max_app_versions);
        } else {
            xml.skip();
        }
    }
}

void parse_other_results(XmlReader& xml, ParseState& state) {
    state.request.has_other_results = true;
    while (xml.next_child("other_results")) {
        if (xml.name() != "other_result") {
            xml.skip();
            continue;
        }
        OtherResult job;
        while (xml.next_child("other_result")) {
            if (!read_field(xml, job, kOtherResultFields)) xml.skip();
        }
        if (job.name.empty()) continue;
        if (state.request.other_results.size() >= state.limits.max_other_results) {
            state.request.other_results_truncated = true;
        }
        add(state.request.other_results, std::move(job), state.limits.max_other_results);
    }
}

void parse_in_progress_results(XmlReader& xml, ParseState& state) {
    state.request.has_in_progress_results = true;
    while (xml.next_child("in_progress_results")) {
        if (xml.name() != "ip_result") {
            xml.skip();
            continue;
        }
        InProgressResult job;
        job.remaining = -1;
        while (xml.next_child("ip_result")) {
            if (!read_field(xml, job, kInProgressFields) && !read_gpu_usage(xml, job)) xml.skip();
        }
        if (job.ncpus < 0) job.ncpus = 0;
        for (double& usage : job.gpu_usage) usage = std::max(usage, 0.0);
        add(state.request.in_progress, std::move(job), state.limits.max_in_progress);
    }
}

void parse_file_info(XmlReader& xml, ParseState& state) {
    StickyFile file;
    while (xml.next_child("file_info")) {
        if (!read_field(xml, file, kFileFields)) xml.skip();
    }
    if (!file.name.empty()) add(state.request.files, std::move(file), state.limits.max_files);
}

void parse_user_keywords(XmlReader& xml, ParseState& state) {
    state.request.has_user_keywords = true;
    while (xml.next_child("user_keywords")) {
        const bool yes = xml.name() == "yes";
        if (!yes && xml.name() != "no") {
            xml.skip();
            continue;
        }
        int id = 0;
        read_int(xml, id);
        auto& list = yes ? state.request.keywords_yes : state.request.keywords_no;
        if (id > 0) add(list, id, state.limits.max_keywords);
    }
}

}  // namespace sluice::rpc
