// SPDX-License-Identifier: LGPL-3.0-or-later
// Texts of config.xml <-> fields, by BOINC's lexical rules: base-0 integers, strtod numbers, 0/1 flags, octal
// modes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <vector>

#include "config/option_table.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

template <typename... F>
struct Visitor : F... {
    using F::operator()...;
};
template <typename... F>
Visitor(F...) -> Visitor<F...>;

bool in_range(double value, const OptionRow::Range& range) { return value >= range.min && value <= range.max; }

std::optional<std::int64_t> parse_octal(std::string_view text) {
    std::int64_t value = 0;
    if (text.empty()) return std::nullopt;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 8);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::optional<std::int64_t> parse_integer(const OptionRow& row, std::string_view text) {
    const auto value = row.base == OptionRow::Base::kOctal ? parse_octal(text) : parse_int(text);
    if (!value || !in_range(static_cast<double>(*value), row.range)) return std::nullopt;
    return value;
}

/// The words for a value, in the order of the enumerators.
template <std::size_t N>
using Words = std::array<std::string_view, N>;
constexpr Words<3> words_for(DecisionLog) { return {"off", "nowork", "all"}; }
constexpr Words<3> words_for(ShareOrder) { return {"off", "seed", "settled"}; }
constexpr Words<2> words_for(LogFormat) { return {"text", "json"}; }

template <typename E>
bool set_word(std::string_view text, E& target) {
    const auto words = words_for(target);
    const auto found = std::find(words.begin(), words.end(), text);
    if (found == words.end()) return false;
    target = static_cast<E>(found - words.begin());
    return true;
}

template <typename E>
std::string choices() {
    const auto words = words_for(E{});
    const auto first = std::vector(words.begin(), words.end() - 1);
    return fmt::format("{} or {}", fmt::join(first, ", "), words.back());
}

/// A bound as an admin would write it.
std::string number_text(double value) { return fmt::format("{:.15g}", value); }

}  // namespace

bool set_option(const OptionRow& row, std::string_view text, ProjectConfig& config) {
    text = trim(text);
    const auto store_integer = [&](auto& target) {
        const auto value = parse_integer(row, text);
        if (value) target = static_cast<std::remove_reference_t<decltype(target)>>(*value);
        return value.has_value();
    };
    const bool fits = static_cast<double>(text.size()) <= row.range.max;
    return std::visit(Visitor{[](std::monostate) { return true; },
                              [&](bool ProjectConfig::*member) {
                                  const auto value = parse_int(text);
                                  if (value) config.*member = *value != 0;
                                  return value.has_value();
                              },
                              [&](int ProjectConfig::*member) { return store_integer(config.*member); },
                              [&](std::int64_t ProjectConfig::*member) { return store_integer(config.*member); },
                              [&](double ProjectConfig::*member) {
                                  const auto value = parse_double(text);
                                  if (!value || !in_range(*value, row.range)) return false;
                                  config.*member = *value;
                                  return true;
                              },
                              [&](std::string ProjectConfig::*member) {
                                  if (fits) config.*member = text;
                                  return fits;
                              },
                              [&](std::vector<std::string> ProjectConfig::*member) {
                                  if (fits && !text.empty()) (config.*member).emplace_back(text);
                                  return fits;
                              },
                              [&](std::vector<std::int64_t> ProjectConfig::*member) {
                                  const auto value = parse_integer(row, text);
                                  if (value) (config.*member).push_back(*value);
                                  return value.has_value();
                              },
                              [](std::map<std::string, double> ProjectConfig::*) { return false; },
                              [&]<typename E>(E ProjectConfig::*member) { return set_word(text, config.*member); }},
                      row.member);
}

std::vector<std::string> option_values(const OptionRow& row, const ProjectConfig& config) {
    using Texts = std::vector<std::string>;
    const auto integer = [&](std::int64_t value) {
        return Texts{row.base == OptionRow::Base::kOctal && value >= 0 ? fmt::format("{:o}", value)
                                                                       : fmt::format("{}", value)};
    };
    return std::visit(Visitor{[](std::monostate) { return Texts{}; },
                              [&](bool ProjectConfig::*member) { return Texts{config.*member ? "1" : "0"}; },
                              [&](int ProjectConfig::*member) { return integer(config.*member); },
                              [&](std::int64_t ProjectConfig::*member) { return integer(config.*member); },
                              [&](double ProjectConfig::*member) { return Texts{fmt::format("{}", config.*member)}; },
                              [&](std::string ProjectConfig::*member) { return Texts{config.*member}; },
                              [&](std::vector<std::string> ProjectConfig::*member) { return config.*member; },
                              [&](std::vector<std::int64_t> ProjectConfig::*member) {
                                  Texts texts;
                                  for (const std::int64_t id : config.*member) texts.push_back(fmt::format("{}", id));
                                  return texts;
                              },
                              [](std::map<std::string, double> ProjectConfig::*) { return Texts{}; },
                              [&]<typename E>(E ProjectConfig::*member) {
                                  const E value = config.*member;
                                  return Texts{std::string(words_for(value).at(static_cast<std::size_t>(value)))};
                              }},
                      row.member);
}

std::string type_name(const OptionRow& row) {
    const auto whole = [&] { return row.base == OptionRow::Base::kOctal ? "octal mode" : "whole number"; };
    return std::visit<std::string>(
        Visitor{[](std::monostate) { return "text"; }, [](bool ProjectConfig::*) { return "0 or 1"; },
                [&](int ProjectConfig::*) { return whole(); }, [&](std::int64_t ProjectConfig::*) { return whole(); },
                [](double ProjectConfig::*) { return "number"; }, [](std::string ProjectConfig::*) { return "text"; },
                [](std::vector<std::string> ProjectConfig::*) { return "texts"; },
                [](std::vector<std::int64_t> ProjectConfig::*) { return "whole numbers"; },
                [](std::map<std::string, double> ProjectConfig::*) { return "numbers by name"; },
                []<typename E>(E ProjectConfig::*) { return choices<E>(); }},
        row.member);
}

std::string allowed_values(const OptionRow& row) {
    const double min = row.range.min, max = row.range.max;  // no binding: clang 14 can't capture one
    if (row.base == OptionRow::Base::kOctal)
        return fmt::format("must be an octal mode from 0 to {:o}", static_cast<int>(max));
    const std::string bounds = fmt::format("from {} to {}", number_text(min), number_text(max));
    const std::string whole = fmt::format("must be a whole number {} (decimal, 0x hexadecimal or 0 octal)", bounds);
    return std::visit(
        Visitor{
            [](std::monostate) { return std::string("may be anything"); },
            [](bool ProjectConfig::*) { return std::string("must be 0 or 1"); },
            [&](int ProjectConfig::*) { return whole; }, [&](std::int64_t ProjectConfig::*) { return whole; },
            [&](double ProjectConfig::*) { return "must be a number " + bounds; },
            [&](std::string ProjectConfig::*) { return fmt::format("must have at most {} bytes", number_text(max)); },
            [&](std::vector<std::string> ProjectConfig::*) {
                return fmt::format("must have at most {} bytes", number_text(max));
            },
            [&](std::vector<std::int64_t> ProjectConfig::*) { return whole; },
            [&](std::map<std::string, double> ProjectConfig::*) {
                return "must hold elements NAME, each with a number " + bounds;
            },
            []<typename E>(E ProjectConfig::*) { return "must be " + choices<E>(); }},
        row.member);
}

}  // namespace sluice
