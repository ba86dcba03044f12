#include "sluice/match/job_summary_of.h"

#include <algorithm>
#include <limits>

#include "sluice/base/text.h"
#include "sluice/match/buda.h"
#include "sluice/xml/reader.h"

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

struct FileInfo {
    std::string name;
    double nbytes = 0;
    bool sticky = false;
};

FileInfo read_file_info(XmlReader& xml) {
    FileInfo info;
    while (xml.next_child("file_info")) {
        if (xml.name() == "name") {
            info.name = xml.text(255).value_or("");
        } else if (xml.name() == "nbytes") {
            info.nbytes = xml.number().value_or(0);
        } else if (xml.name() == "sticky") {
            info.sticky = xml.boolean().value_or(false);
        } else {
            xml.skip();
        }
    }
    return info;
}

/// Sticky input files (locality-lite) and whether the job is one of BUDA.
void read_workunit_xml(const std::string& text, JobSummary& job) {
    XmlReader xml(text);
    int sticky_files = 0;
    for (auto token = xml.next(); token != XmlReader::Kind::kEof; token = xml.next()) {
        if (token != XmlReader::Kind::kStart || xml.name() != "file_info" || xml.empty_element()) continue;
        const FileInfo info = read_file_info(xml);
        if (!info.sticky || info.name.empty()) continue;
        if (sticky_files < static_cast<int>(job.input_files.size())) {
            job.input_files[static_cast<std::size_t>(sticky_files)] = {
                file_name_hash(info.name.data(), info.name.size()), static_cast<float>(info.nbytes)};
        }
        ++sticky_files;
    }
    job.n_input_files = static_cast<std::uint8_t>(std::min(sticky_files, 255));
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

}  // namespace sluice
