// SPDX-License-Identifier: LGPL-3.0-or-later
#include <algorithm>
#include <limits>

#include "sluice/base/text.h"
#include "sluice/match/buda.h"
#include "sluice/match/job_summary_of.h"
#include "sluice/model/job.h"
#include "sluice/xml/sticky_files.h"

namespace sluice {
namespace {

/// workunit.keywords: integers with blanks between them.
void read_keywords(std::string_view text, JobSummary& job) {
    int n = 0;
    while (!(text = trim(text)).empty()) {
        const auto end = std::min(text.find_first_of(" \t\n"), text.size());
        if (const auto id = parse_int(text.substr(0, end))) {
            if (n < static_cast<int>(job.keywords.size()))
                job.keywords[static_cast<std::size_t>(n)] = clamp_to_int32(*id);
            ++n;
        }
        text.remove_prefix(end);
    }
    job.n_keywords = static_cast<std::uint8_t>(std::min(n, 255));
}

/// Sticky input files (locality-lite) and whether the job is one of BUDA.
void read_workunit_xml(const std::string& text, JobSummary& job) {
    const std::vector<StickyInput> files = sticky_inputs(text);
    for (std::size_t i = 0; i < std::min(files.size(), job.input_files.size()); ++i)
        job.input_files[i] = {file_name_hash(files[i].name.data(), files[i].name.size()),
                              static_cast<float>(files[i].nbytes)};
    job.n_input_files = static_cast<std::uint8_t>(std::min<std::size_t>(files.size(), 255));
    if (const std::string app = buda_app_name(text); !app.empty()) {
        job.is_buda = 1;
        job.buda_app_hash = file_name_hash(app.data(), app.size());
    }
}

std::int16_t clamp_to_int16(int v) {
    return static_cast<std::int16_t>(
        std::clamp<int>(v, std::numeric_limits<std::int16_t>::min(), std::numeric_limits<std::int16_t>::max()));
}

}  // namespace

JobSummary job_summary_of(const Workunit& w, const Result& r, int reliable_on_priority, std::int64_t time_added) {
    JobSummary job;
    job.result_id = r.id;
    job.workunit_id = w.id;
    job.app_id = clamp_to_int32(w.appid);
    job.batch = clamp_to_int32(w.batch);
    job.rsc_fpops_est = w.rsc_fpops_est;
    job.rsc_fpops_bound = w.rsc_fpops_bound;
    job.rsc_memory_bound = w.rsc_memory_bound;
    job.rsc_disk_bound = w.rsc_disk_bound;
    job.rsc_bandwidth_bound = w.rsc_bandwidth_bound;
    job.delay_bound = clamp_to_int32(w.delay_bound);
    job.report_deadline = clamp_to_int32(r.report_deadline);
    job.priority = clamp_to_int32(r.priority);
    job.wu_priority = clamp_to_int32(w.priority);
    job.hr_class = w.hr_class;
    job.app_version_id = clamp_to_int32(w.app_version_id);
    job.app_version_num = w.app_version_num;
    job.time_added = clamp_to_int32(time_added);
    job.create_time = clamp_to_int32(r.create_time);
    job.size_class = clamp_to_int16(w.size_class);
    job.target_nresults = clamp_to_int16(w.target_nresults);
    job.need_reliable = reliable_on_priority != 0 && r.priority >= reliable_on_priority ? 1 : 0;
    read_keywords(w.keywords, job);
    read_workunit_xml(w.xml_doc, job);
    return job;
}

std::string why_unwritable(const UnsentJob& job) {
    const std::string& xml = job.workunit.xml_doc;
    if (!is_whole(xml, "workunit")) return "workunit.xml_doc: " + what_is_missing(xml, "workunit");
    return job.result_is_whole ? "" : "result.xml_doc_in has no whole <result> element";
}

}  // namespace sluice
