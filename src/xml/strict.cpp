// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/xml/strict.h"

#include <expat.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "sluice/base/text.h"

namespace sluice {
namespace {

using Parser = std::unique_ptr<XML_ParserStruct, decltype(&XML_ParserFree)>;

bool in_comment(std::string_view before) {
    const auto begin = before.rfind("<!--");
    return begin != std::string_view::npos && before.find("-->", begin + 4) == std::string_view::npos;
}

bool is_control(unsigned char byte) { return byte < ' ' && byte != '\t' && byte != '\n' && byte != '\r'; }

/// Expat says "not well-formed" of many things: what stands there tells which it is.
std::string invalid_token(std::string_view before, std::string_view rest) {
    const auto byte = rest.empty() ? '\0' : static_cast<unsigned char>(rest[0]);
    const char last = before.empty() ? '\0' : before.back();
    if (!rest.empty() && is_control(byte))
        return fmt::format("the control character 0x{:02x} may stand in no XML file: take it out", byte);
    if (byte >= 0x80) return "this is not UTF-8: save the file as UTF-8, or name its encoding in <?xml ... ?>";
    // Within a comment it stops behind the two dashes.
    if (in_comment(before) && (before.ends_with("--") || rest.starts_with("--") || last == '-'))
        return "a comment may not hold \"--\": write one dash, or take the comment out";
    const auto amp = before.rfind('&');
    if (byte == '&' || last == '&' ||
        (amp != std::string_view::npos && before.find_first_of(";<>\n", amp) == std::string_view::npos))
        return "a single & must be written as &amp;";
    if (byte == '<' || last == '<') return "a single < must be written as &lt;";
    return "this is not well-formed XML: look for an attribute without quotes, or < and & that are not written as &lt; and &amp;";
}

std::string what_is_wrong(XML_Error error, std::string_view before, std::string_view rest) {
    switch (error) {
        case XML_ERROR_INVALID_TOKEN: return invalid_token(before, rest);
        case XML_ERROR_TAG_MISMATCH: return "this end tag is not that of the element that is open here";
        case XML_ERROR_UNDEFINED_ENTITY:
            return "XML does not know this &NAME;: write & as &amp;, and other characters as they are";
        case XML_ERROR_BAD_CHAR_REF: return "this &#NUMBER; is no character that may stand in XML: take it out";
        case XML_ERROR_JUNK_AFTER_DOC_ELEMENT:
            return "there is more than one outer element: put one element around all of them";
        case XML_ERROR_MISPLACED_XML_PI:
            return "<?xml ... ?> must be the very first thing in the file: take out what stands before it";
        case XML_ERROR_NO_ELEMENTS:
        case XML_ERROR_UNCLOSED_TOKEN: return "the file ends before its outer element does, or holds none: complete it";
        case XML_ERROR_PARTIAL_CHAR: return invalid_token(before, "\xff");
        default: return fmt::format("{}: correct it", XML_ErrorString(error));
    }
}

}  // namespace

std::optional<XmlFault> strict_xml_fault(std::string_view text) {
    const Parser parser(XML_ParserCreate(nullptr), &XML_ParserFree);
    const auto bytes = static_cast<int>(std::min<std::size_t>(text.size(), std::numeric_limits<int>::max()));
    if (XML_Parse(parser.get(), text.data(), bytes, XML_TRUE) != XML_STATUS_ERROR) return std::nullopt;
    // Those of PHP and Python know more encodings than expat alone.
    if (XML_GetErrorCode(parser.get()) == XML_ERROR_UNKNOWN_ENCODING) return std::nullopt;
    const auto at =
        std::min(static_cast<std::size_t>(std::max<XML_Index>(XML_GetCurrentByteIndex(parser.get()), 0)), text.size());
    return XmlFault{XML_GetCurrentLineNumber(parser.get()),
                    what_is_wrong(XML_GetErrorCode(parser.get()), text.substr(0, at), text.substr(at))};
}

bool fits_into_xml(std::string_view text) {
    // A parser turns CR into LF.
    const bool control = std::ranges::any_of(text, [](unsigned char byte) { return is_control(byte) || byte == '\r'; });
    return !control && !strict_xml_fault("<x>" + xml_escape(text) + "</x>");
}

}  // namespace sluice
