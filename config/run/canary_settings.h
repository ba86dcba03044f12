// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What `sluice canary` writes into PROJECT/sluice-canary for others to read. Pure; linked into the small program that a
// web server starts for each request, so without libraries.
#include <string>
#include <string_view>

namespace sluice {

/// In kCanaryFolder: the settings, how far it has come, their scheduler, and ours.
inline constexpr const char *kCanarySettings = "settings", *kCanaryState = "state", *kCanaryTheirs = "theirs",
                            *kCanaryOurs = "ours";
inline constexpr std::string_view kDividingState = "dividing";

/// Only the front holds it, of what may lie in cgi-bin.
inline constexpr std::string_view kFrontMark = "canary_front: ";

/// Hundredths of a percent.
inline constexpr int kAllHosts = 10000;

/// Of the settings' text the hundredths of a percent that go to Sluice; 0 if it is not understood.
int canary_share(std::string_view settings);
std::string canary_settings(int share);

}  // namespace sluice
