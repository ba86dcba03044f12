// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// One description of a program, rendered as --help and as a man page.
#include <string>
#include <utility>
#include <vector>

namespace sluice {

struct OptionDoc {
    std::string names;  ///< "-d, --debug_level"; of a positional: its name
    std::string value;  ///< "N"; empty for flags
    std::string help;
    bool positional = false;
};

struct ProgramDoc {
    std::string program, summary, description;
    std::vector<OptionDoc> options;
    std::vector<std::pair<std::string, std::string>> sections;  ///< title, text
};

std::string usage_text(const ProgramDoc& doc);
/// roff with the man macros, section 1.
std::string man_page(const ProgramDoc& doc, const std::string& version);

}  // namespace sluice
