// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/sim/input_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/xml/sticky_files.h"

namespace sluice::sim {

void FileSource::give(Workunit& job, const AppSpec& app, MemoryDb& db) {
    if (spec_.open <= 0) return;
    if (open_.empty()) open_.resize(static_cast<std::size_t>(spec_.open));
    File& file = open_[next_++ % open_.size()];
    if (file.left == 0) {
        file = {fmt::format("f{}_{}", work_, made_++), 0, spec_.jobs};
        if (app.locality == 1 && app.file_groups) {
            file.group = db.file_groups.next_key();
            db.file_groups.put(file.group, {.name = file.name, .id = file.group});
        }
    }
    --file.left;
    job.xml_doc =
        fmt::format("<file_info><name>{}</name><nbytes>{:.0f}</nbytes><sticky/></file_info><workunit></workunit>",
                    file.name, spec_.megabytes * 1e6);
    if (file.group != 0) db.group_workunits.put({file.group, job.id}, true);
}

Download FilesOnHost::take(const std::string& wu_xml) {
    Download download;
    for (StickyInput& needed : sticky_inputs(wu_xml)) {
        ++download.files;
        const auto there = std::ranges::find(files_, needed.name, &File::name);
        if (there != files_.end()) {
            ++download.there;
            files_.splice(files_.end(), files_, there);
            continue;
        }
        download.bytes += needed.nbytes;
        used_ += needed.nbytes;
        files_.push_back({std::move(needed.name), needed.nbytes});
        for (; used_ > room_ && files_.size() > 1; files_.pop_front()) used_ -= files_.front().bytes;
    }
    return download;
}

void FilesOnHost::remove(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
        const auto file = std::ranges::find(files_, name, &File::name);
        if (file == files_.end()) continue;
        used_ -= file->bytes;
        files_.erase(file);
    }
}

void FilesOnHost::tell(std::vector<StickyFile>& files) const {
    for (const File& file : files_) files.push_back({file.name, file.bytes, 1, true});
}

}  // namespace sluice::sim
