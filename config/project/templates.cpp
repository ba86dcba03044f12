// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/project/templates.h"

#include "sluice/base/error.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

constexpr std::string_view kNameCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_";

}  // namespace

std::string fill_template(std::string_view text, const TemplateValues& values, Escape escape) {
    std::string filled;
    while (true) {
        const std::size_t at = text.find('@');
        filled += text.substr(0, at);
        if (at == std::string_view::npos) return filled;
        text.remove_prefix(at + 1);
        const std::size_t end = text.find_first_not_of(kNameCharacters);
        const bool is_name = end != std::string_view::npos && end > 0 && text[end] == '@';
        if (!is_name) {
            filled += '@';
            continue;
        }
        const std::string_view name = text.substr(0, end);
        const auto value = values.find(name);
        if (value == values.end()) throw Error("template: @" + std::string(name) + "@ has no value");
        const bool raw = escape == Escape::kNone || name.starts_with("RAW_");
        filled += raw ? value->second : xml_escape(value->second);
        text.remove_prefix(end + 1);
    }
}

}  // namespace sluice
