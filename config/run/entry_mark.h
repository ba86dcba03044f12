// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What entries of bin/ and cgi-bin/ are known by, and what they become: config/project/entry/entry.cpp.
#include <cstring>

namespace sluice {

/// By this text a file is known to be an entry.
inline constexpr char kEntryMark[] = "Sluice: this file becomes the installed program of its name.";

/// The name of the installed program that an entry of that name becomes. Upstream has two programs where one serves as
/// both: an installation has no fcgi.
inline const char* installed_name(const char* entry) { return std::strcmp(entry, "fcgi") == 0 ? "cgi" : entry; }

}  // namespace sluice
