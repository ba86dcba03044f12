// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/base/whole_document.h"

#include <fmt/format.h>

namespace sluice {

bool is_whole(std::string_view document, std::string_view tag) {
    // From the end: the element comes last, and long documents have it behind many files.
    const auto end = document.rfind(fmt::format("</{}>", tag));
    return end != std::string_view::npos && document.substr(0, end).rfind(fmt::format("<{}>", tag)) != document.npos;
}

std::string what_is_missing(std::string_view document, std::string_view tag) {
    if (document.empty()) return "it is empty";
    const bool begins = document.find(fmt::format("<{}>", tag)) != std::string_view::npos;
    return begins ? fmt::format("it ends without </{}> ({} bytes)", tag, document.size())
                  : fmt::format("it has no <{}> ({} bytes)", tag, document.size());
}

}  // namespace sluice
