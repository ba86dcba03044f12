// SPDX-License-Identifier: LGPL-3.0-or-later
#include "config/config_element.h"

#include <fmt/format.h>

#include <algorithm>

#include "sluice/base/error.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

/// No option nests deeper than three; the bound keeps a wrong file from becoming a deep tree.
constexpr std::size_t kMaxDepth = 16;

}  // namespace

const ConfigElement* ConfigElement::child(std::string_view child_name) const {
    const auto found = std::ranges::find(children, child_name, &ConfigElement::name);
    return found == children.end() ? nullptr : &*found;
}

std::string ConfigElement::child_text(std::string_view child_name) const {
    const ConfigElement* found = child(child_name);
    return found == nullptr ? std::string() : found->text;
}

std::string where(std::string_view input, std::size_t position, const std::string& file) {
    const std::string_view before = input.substr(0, std::min(position, input.size()));
    return fmt::format("{}:{}", file, 1 + std::ranges::count(before, '\n'));
}

ConfigElement read_element(XmlReader& reader, std::string_view input, const std::string& file) {
    const auto fail = [&](const std::string& problem) {
        throw ConfigError(fmt::format("{}: {}", where(input, reader.position(), file), problem));
    };
    const auto opened = [&] {
        ConfigElement element;
        element.name = reader.name();
        element.self_closing = reader.empty_element();
        return element;
    };
    std::vector<ConfigElement> open{opened()};
    while (!open.front().self_closing) {
        switch (reader.next()) {
            case XmlReader::Kind::kText: open.back().text += xml_unescape(reader.raw_text()); break;
            case XmlReader::Kind::kStart:
                if (reader.empty_element()) {
                    open.back().children.push_back(opened());
                } else if (open.size() == kMaxDepth) {
                    fail(fmt::format("<{}> is nested too deeply", in_one_line(reader.name())));
                } else {
                    open.push_back(opened());
                }
                break;
            case XmlReader::Kind::kEnd: {
                if (reader.name() != open.back().name) {
                    fail(fmt::format("</{}> stands where </{}> should", in_one_line(reader.name()),
                                     in_one_line(open.back().name)));
                }
                ConfigElement done = std::move(open.back());
                done.text = trim(done.text);
                open.pop_back();
                if (open.empty()) return done;
                open.back().children.push_back(std::move(done));
                break;
            }
            case XmlReader::Kind::kEof: fail(fmt::format("</{}> is missing", in_one_line(open.back().name)));
        }
    }
    return std::move(open.front());
}

void skip_element(XmlReader& reader, std::string_view input, const std::string& file) {
    if (reader.empty_element()) return;
    const std::string name(reader.name());
    const std::size_t start = reader.position();
    reader.skip();
    // The reader stops at the parent's end when the element has none of its own: the options after it would
    // be lost.
    std::string_view skipped = input.substr(start, reader.position() - start);
    const std::size_t last_tag = skipped.rfind("</");
    const bool closed = last_tag != std::string_view::npos && trim(skipped.substr(last_tag)).starts_with("</" + name);
    if (!closed)
        throw ConfigError(
            fmt::format("{}: <{}> has no </{}>", where(input, start, file), in_one_line(name), in_one_line(name)));
}

}  // namespace sluice
