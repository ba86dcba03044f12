// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Jobs of which each part follows from the id, so that a mixture of two shows.
#include <string>

#include "sluice/model/job_summary.h"

namespace sluice::test {

inline JobSummary job_of(Id id) {
    JobSummary job;
    job.result_id = id;
    job.workunit_id = id * 7;
    job.app_id = static_cast<std::int32_t>(id % 97);
    job.batch = static_cast<std::int32_t>(id % 1009);
    job.rsc_fpops_est = static_cast<double>(id) * 3;
    job.rsc_fpops_bound = static_cast<double>(id) * 5;
    job.rsc_memory_bound = static_cast<double>(id) * 11;
    job.rsc_disk_bound = static_cast<double>(id) * 13;
    job.delay_bound = static_cast<std::int32_t>(id % 100003);
    job.priority = static_cast<std::int32_t>(id % 31);
    job.keywords.fill(static_cast<std::int32_t>(id % 65537));
    job.input_files.fill({static_cast<std::uint32_t>(id), static_cast<float>(id % 4096)});
    return job;
}
inline bool is_whole(const JobSummary& job) {
    const JobSummary right = job_of(job.result_id);
    return job.workunit_id == right.workunit_id && job.app_id == right.app_id && job.batch == right.batch &&
           job.rsc_fpops_est == right.rsc_fpops_est && job.rsc_fpops_bound == right.rsc_fpops_bound &&
           job.rsc_memory_bound == right.rsc_memory_bound && job.rsc_disk_bound == right.rsc_disk_bound &&
           job.delay_bound == right.delay_bound && job.priority == right.priority && job.keywords == right.keywords &&
           job.input_files[0].name_hash == right.input_files[0].name_hash &&
           job.input_files[3].nbytes == right.input_files[3].nbytes;
}
inline SlotDoc doc_of(Id id, std::size_t bytes = 0) {
    const std::string text = std::to_string(id);
    std::string xml = "<workunit>" + text;
    const std::size_t wanted = bytes == 0 ? 100 + static_cast<std::size_t>(id * 37 % 900) : bytes;
    while (xml.size() < wanted) xml += " " + text;
    return {"wu_" + text, xml, text, "wu_" + text + "_0"};
}
inline bool is_whole(const SlotDoc& doc, Id id, std::size_t bytes = 0) {
    const SlotDoc right = doc_of(id, bytes);
    return doc.wu_name == right.wu_name && doc.wu_xml == right.wu_xml && doc.keywords == right.keywords &&
           doc.result_name == right.result_name;
}

}  // namespace sluice::test
