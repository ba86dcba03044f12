// Locality, the light way: which of a job's sticky input files does the host hold already? Slots hold the first few;
// for jobs with more, the workunit's XML is read.
#include "sched/match/input_files.h"

#include <algorithm>

#include "sluice/xml/reader.h"

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

// <file_info> … <name>N</name> <nbytes>B</nbytes> <sticky/> … </file_info>
void count_xml(const HostFacts& host, std::string_view text, Candidate& c) {
    XmlReader xml(text);
    for (auto kind = xml.next(); kind != XmlReader::Kind::kEof; kind = xml.next()) {
        if (kind != XmlReader::Kind::kStart || xml.name() != "file_info") continue;
        std::string name;
        double nbytes = 0;
        bool sticky = false;
        while (xml.next_child("file_info")) {
            if (xml.name() == "name")
                name = xml.text(255).value_or("");
            else if (xml.name() == "nbytes")
                nbytes = xml.number().value_or(0);
            else if (xml.name() == "sticky")
                sticky = xml.boolean().value_or(false);
            else
                xml.skip();
        }
        if (sticky && !name.empty()) count(host, file_name_hash(name.data(), name.size()), nbytes, c);
    }
}

}  // namespace

void find_local_files(const HostFacts& host, const JobPool& pool, Candidate& c) {
    if (c.job.n_input_files <= c.job.input_files.size()) {
        for (std::size_t i = 0; i < c.job.n_input_files; ++i)
            count(host, c.job.input_files[i].name_hash, static_cast<double>(c.job.input_files[i].nbytes), c);
        return;
    }
    if (const auto xml = pool.workunit_xml(c.ref)) count_xml(host, *xml, c);
}

}  // namespace sluice::match
