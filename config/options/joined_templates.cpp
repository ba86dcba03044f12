// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/options/joined_templates.h"

#include <fmt/core.h>

#include <algorithm>

#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/in_one_line.h"
#include "sluice/xml/result_template.h"

namespace sluice {

std::vector<std::string> joined_templates(const fs::path& project) {
    constexpr std::size_t kLongest = 1 << 20;
    std::vector<std::string> findings;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(project / "templates", none)) {
        if (!entry.is_regular_file(none)) continue;
        try {
            const std::string text = read_file(entry.path(), kLongest).value_or("");
            const std::string name = "templates/" + in_one_line(entry.path().filename().string());
            if (const int line = line_of_joined_result(text); line > 0)
                findings.push_back(fmt::format(
                    "{}:{}: something stands behind <result> on its line: BOINC's own scheduler can't send such "
                    "jobs; begin a new line there",
                    name, line));
            for (const char* tag : {"<result/>", "<result />"})
                if (find_outside_comments(text, tag) != text.npos)
                    findings.push_back(fmt::format(
                        "{}: no result can be made of {}; write <result> and, on the next line, </result>", name, tag));
        } catch (const FileError& e) {
            findings.emplace_back(e.what());
        }
    }
    std::ranges::sort(findings);
    return findings;
}

}  // namespace sluice
