// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <map>
#include <string>
#include <string_view>

namespace sluice {

/// A file of config/templates, as it was when this program was built; empty: there is none of that name.
std::string_view template_text(std::string_view name);

using TemplateValues = std::map<std::string, std::string, std::less<>>;

enum class Escape { kNone, kXml };
/// Replaces every @NAME@ (capitals and underscores). Values are escaped for XML, except those whose names
/// begin with "RAW_". Throws Error if a name has no value.
std::string fill_template(std::string_view text, const TemplateValues& values, Escape escape);

}  // namespace sluice
