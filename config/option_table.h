// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// One row per option of config.xml. No other place gives its name, its allowed values, its defaults and its readers.
// The loader, docs/options.md and the tests are driven by it (docs/adding_an_option.md).
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/project_config.h"

namespace sluice {

struct OptionRow {
    /// What the option's text becomes. monostate: known but not interpreted (PHP pages or other programs read
    /// it).
    using Member =
        std::variant<std::monostate, bool ProjectConfig::*, int ProjectConfig::*, std::int64_t ProjectConfig::*,
                     double ProjectConfig::*, std::string ProjectConfig::*, std::vector<std::string> ProjectConfig::*,
                     std::vector<std::int64_t> ProjectConfig::*, std::map<std::string, double> ProjectConfig::*,
                     DecisionLog ProjectConfig::*, ShareOrder ProjectConfig::*, LogFormat ProjectConfig::*>;
    struct Range {
        double min = 0, max = 0;  ///< of a number, of each weight; of a text: bytes
    };
    enum class Base { kAny, kOctal };  ///< kAny: 10, 0x or leading 0, as in C

    std::string_view tag;
    Member member;
    std::string_view level0,
        level1;  ///< defaults, as they would stand in the file; "" for texts and lists: empty
    Range range;
    std::string_view readers;  ///< programs, separated by ", "
    std::string_view doc;      ///< one line
    Base base = Base::kAny;
};

struct OptionSection {
    std::string_view title;
    std::span<const OptionRow> rows;
};

/// In the order of the documentation.
std::span<const OptionSection> option_sections();
/// nullptr if there is no such option.
const OptionRow* find_option(std::string_view tag);

/// "whole number", "0 or 1" …
std::string type_name(const OptionRow& row);
/// What a value may be, for messages: "must be a whole number from 1 to 65536 …".
std::string allowed_values(const OptionRow& row);

/// Stores `text` (trimmed, entities decoded); lists gain one element. False: not an allowed value, nothing
/// changed. Not for weights.
[[nodiscard]] bool set_option(const OptionRow& row, std::string_view text, ProjectConfig& config);
/// The option's values as they would stand in the file; one element except for lists. Not for weights.
std::vector<std::string> option_values(const OptionRow& row, const ProjectConfig& config);

}  // namespace sluice
