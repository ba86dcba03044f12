// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// By what a file of cgi-bin is known as the tee of `sluice shadow --tee`.
#include <string_view>

namespace sluice::tee {

/// Below cgi-bin: the scheduler that the tee stands in front of.
inline constexpr const char* kBehind = "cgi.behind_tee";

/// A file that holds it is the tee, whatever its version. Put together at run time, so that no other program holds it.
inline constexpr std::string_view kMark[] = {"Sluice's tee ", "stands in front of a cgi"};

}  // namespace sluice::tee
