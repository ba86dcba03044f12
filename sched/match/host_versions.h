// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Version numbers inside the free text that hosts send.
#include <optional>
#include <string_view>
#include <vector>

namespace sluice::match {

/// The leading dotted number of `text`, at most `most` parts: "4.15.0-36" -> {4, 15, 0}.
std::vector<long> dotted_number(std::string_view text, std::size_t most);
/// Darwin, Android, Linux: 10000a+100b+c; Windows "(a.b.c.d)": 1e8a+1e6b+100c+d; 0 = can't tell.
double os_version_number(std::string_view os_name, std::string_view os_version);
/// "[4.15.0|libc 2.27 …]" -> 227; 0 = can't tell.
long libc_version_number(std::string_view os_version);
/// "2.35" -> 235.
long two_part_version(std::string_view text);
/// "4.14.190-user (Android 12)" -> 120000; 0 = can't tell.
long android_version_number(std::string_view os_version);

}  // namespace sluice::match
