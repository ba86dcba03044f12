// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/work/file_group.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "sluice/base/error.h"
#include "sluice/base/in_one_line.h"
#include "sluice/xml/sticky_files.h"

namespace sluice {
namespace {

constexpr std::size_t kLongestName = 254;  ///< of a file in a group, in bytes

}  // namespace

std::string given_file_group(const JobOptions& options, const Workunit& workunit, const App& app) {
    const std::string& file = options.file_group;
    if (app.locality_scheduling != 1)
        throw ConfigError(fmt::format(
            "app {} is not for locality: set its locality_scheduling to 1, or leave out --file_group", app.name));
    if (to_assignment(options))
        throw ConfigError("a job with a target or a broadcast is in no file group: leave out --file_group");
    const std::vector<StickyInput> files = sticky_inputs(workunit.xml_doc);
    if (file.size() > kLongestName || std::ranges::none_of(files, [&](const auto& f) { return f.name == file; }))
        throw ConfigError(
            fmt::format("--file_group {}: the job has no input file of that name whose <file_info> is <sticky/>",
                        in_one_line(file)));
    return file;
}

std::string largest_sticky_input(const Workunit& workunit) {
    const std::vector<StickyInput> files = sticky_inputs(workunit.xml_doc);
    const auto largest = std::ranges::max_element(files, {}, &StickyInput::nbytes);
    return largest == files.end() || largest->name.size() > kLongestName ? "" : largest->name;
}

}  // namespace sluice
