// SPDX-License-Identifier: LGPL-3.0-or-later
// Upstream reads preferences by searching for the tag, wherever it stands.
#include <cmath>

#include "sluice/base/text.h"
#include "sluice/xml/reader.h"

namespace sluice {

namespace {

/// What follows the first <tag>.
std::optional<std::string_view> behind_start_tag(std::string_view xml, std::string_view tag) {
    const std::string start = "<" + std::string(tag) + ">";
    const auto at = xml.find(start);
    if (at == std::string_view::npos) return std::nullopt;
    return xml.substr(at + start.size());
}

}  // namespace

std::optional<std::string_view> find_element(std::string_view xml, std::string_view tag) {
    const auto rest = behind_start_tag(xml, tag);
    if (!rest) return std::nullopt;
    const auto end = rest->find("</" + std::string(tag) + ">");
    if (end == std::string_view::npos) return std::nullopt;
    return trim(rest->substr(0, end));
}

std::optional<double> find_number(std::string_view xml, std::string_view tag) {
    const auto rest = behind_start_tag(xml, tag);
    if (!rest) return std::nullopt;
    const std::string_view text = trim(rest->substr(0, rest->find('<')));
    const auto value = parse_double(text.substr(0, text.find_first_of(" \t\r\n")));
    if (!value || !std::isfinite(*value)) return std::nullopt;
    return value;
}

}  // namespace sluice
