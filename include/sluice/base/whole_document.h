// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Documents that the database holds of jobs and app versions: <file_info> elements and one element more, which a reply
// is made of. A column that was too small has cut some of them.
#include <string>
#include <string_view>

namespace sluice {

/// <TAG> stands in the document, and </TAG> behind it.
bool is_whole(std::string_view document, std::string_view tag);

/// Of a document that is not: "it is empty", "it ends without </workunit> (65535 bytes)". One line.
std::string what_is_missing(std::string_view document, std::string_view tag);

}  // namespace sluice
