// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/model/hr_info.h"

#include <fmt/core.h>

#include <cmath>

#include "sluice/base/error.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

[[noreturn]] void bad_line(const std::string& file, std::size_t line, const std::string& expected) {
    throw ConfigError(fmt::format("{}, line {}: expected {}; run census to write the file anew", file, line, expected));
}

}  // namespace

HrInfo parse_hr_info(std::string_view text, const std::string& file) {
    HrInfo info;
    const auto lines = split(text, '\n');
    std::size_t next = 0;
    for (int type = 1; type < kHrTypes; ++type) {
        if (next >= lines.size() || !lines[next].starts_with("---------"))
            bad_line(file, next + 1, "a line of dashes and a type's name");
        ++next;
        auto& rac = info[static_cast<std::size_t>(type)];
        for (int hr_class = 0; hr_class < kHrClasses; ++hr_class, ++next) {
            const std::string expected = fmt::format("\"{} RAC\"", hr_class);
            if (next >= lines.size()) bad_line(file, next + 1, expected);
            const std::string_view line = trim(lines[next]);
            const auto blank = line.find_first_of(" \t");
            if (blank == std::string_view::npos || parse_int(line.substr(0, blank)) != hr_class)
                bad_line(file, next + 1, expected);
            const auto credit = parse_double(line.substr(blank));
            if (!credit || !std::isfinite(*credit) || *credit < 0) bad_line(file, next + 1, expected);
            rac.push_back(*credit);
        }
    }
    return info;
}

std::string hr_info_text(const HrInfo& info) {
    constexpr const char* kNames[kHrTypes] = {"", "fine", "coarse"};
    std::string text;
    for (std::size_t type = 1; type < kHrTypes; ++type) {
        text += fmt::format("--------- {} ----------\n", kNames[type]);
        for (std::size_t c = 0; c < kHrClasses; ++c) text += fmt::format("{} {:.6f}\n", c, info[type].at(c));
    }
    return text;
}

}  // namespace sluice
