// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// An element of config.xml with its children, read strictly. A wrong end tag is an error with its place; the reader
// guesses nothing. (The tolerant reader below it, sluice/xml/reader.h, finds the elements.)
#include <string>
#include <string_view>
#include <vector>

#include "sluice/xml/reader.h"

namespace sluice {

struct ConfigElement {
    std::string name;
    std::string text;           ///< its own text, entities decoded, trimmed
    bool self_closing = false;  ///< <x/>
    std::vector<ConfigElement> children;

    /// The first child of that name; nullptr: none.
    const ConfigElement* child(std::string_view child_name) const;
    /// Its text; "" if there is none.
    std::string child_text(std::string_view child_name) const;
};

/// Reads the element whose start tag `reader` just returned, up to its end tag. Throws ConfigError that names
/// `file` and the line.
ConfigElement read_element(XmlReader& reader, std::string_view input, const std::string& file);
/// Skips such an element, whatever it holds. Throws ConfigError if it has no end tag.
void skip_element(XmlReader& reader, std::string_view input, const std::string& file);

/// "FILE:LINE".
std::string where(std::string_view input, std::size_t position, const std::string& file);

}  // namespace sluice
