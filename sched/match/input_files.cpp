// SPDX-License-Identifier: LGPL-3.0-or-later
// Locality, the light way: which of a job's sticky input files does the host hold already? Slots hold the first few;
// for jobs with more, the workunit's XML is read.
#include "sched/match/input_files.h"

#include <algorithm>

#include "sluice/xml/sticky_files.h"

namespace sluice::match {
namespace {

void count(const HostFacts& host, std::uint32_t hash, double nbytes, Candidate& c) {
    const auto on_host = host.files.find(hash);
    if (on_host != host.files.end()) {
        ++c.local_files;
        if (!(nbytes > 0)) nbytes = on_host->second;
        c.local_bytes += nbytes;
    }
    c.input_bytes += nbytes;
}

}  // namespace

void find_local_files(const HostFacts& host, const JobPool& pool, Candidate& c) {
    if (c.job.n_input_files <= c.job.input_files.size()) {
        for (std::size_t i = 0; i < c.job.n_input_files; ++i)
            count(host, c.job.input_files[i].name_hash, static_cast<double>(c.job.input_files[i].nbytes), c);
        return;
    }
    if (const auto xml = pool.workunit_xml(c.ref))
        for (const StickyInput& file : sticky_inputs(*xml))
            count(host, file_name_hash(file.name.data(), file.name.size()), file.nbytes, c);
}

}  // namespace sluice::match
