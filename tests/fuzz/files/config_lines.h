// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Complaints of config.xml and config_aux.xml.
#include "tests/fuzz/files/one_line.h"

namespace sluice::fuzz {

/// Of a complaint: empty, or what is wrong with it.
inline std::string config_line_fault(const std::string& line) {
    if (!line.starts_with("config.xml") && !line.starts_with("config_aux.xml"))
        return "this does not begin with the file: \"" + line + "\"";
    return line_fault(line, {"must", "is missing", "has no <", "has no start tag", "stands where", "nested too deeply",
                             "no <config> element", "no start tag", "ignored", "allowed", "expected", "is not closed"});
}

}  // namespace sluice::fuzz
