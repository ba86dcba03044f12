// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What config.xml with these options, and this config_aux.xml, says.
#include <string>

#include "config/load.h"
#include "sluice/base/error.h"

namespace sluice {

inline LoadedConfig parse(const std::string& options, const std::string& aux = "") {
    return parse_config("<boinc>\n<config>\n" + options + "\n</config>\n</boinc>\n", "config.xml", aux);
}

/// What stops a program.
inline std::string refusal_of(const std::string& options, const std::string& aux = "") {
    try {
        parse(options, aux);
    } catch (const ConfigError& error) {
        return error.what();
    }
    return "no error";
}

/// What costs an option only: the lines, joined.
inline std::string errors_of(const std::string& options, const std::string& aux = "") {
    std::string all;
    for (const std::string& line : parse(options, aux).errors) all += line + "\n";
    return all;
}

}  // namespace sluice
