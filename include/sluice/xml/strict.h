// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

struct XmlFault {
    std::size_t line = 0;  ///< the first one is 1
    std::string what;      ///< what is wrong and what to write instead
};

/// What keeps `text` from being an XML 1.0 document: PHP, Python and every other strict parser refuse it. nullopt:
/// nothing. Our own readers are more tolerant, as upstream's are (sluice/xml/reader.h).
std::optional<XmlFault> strict_xml_fault(std::string_view text);

/// Can it stand in an XML file, escaped, and be read back as it is? Control characters and what is not UTF-8 can't.
bool fits_into_xml(std::string_view text);

}  // namespace sluice
