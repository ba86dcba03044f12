// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Which scheduler a request goes to while a project tries Sluice with a part of its hosts. Pure; linked into the small
// program that a web server starts for each request, so without libraries.
#include <string>
#include <string_view>

#include "config/run/canary_settings.h"
#include "config/run/own_programs.h"

namespace sluice {

/// In kCanaryFolder.
inline constexpr const char* kCanaryFigures = "figures";

/// What tells this host from others, and stays: its id, else the id that it gave itself, else its account's key. Empty:
/// the request names none.
std::string host_key(std::string_view request);

/// A host that goes to Sluice at one share goes there at each larger one.
bool goes_to_sluice(std::string_view key, int share);

/// It wants a job.
bool asks_for_work(std::string_view request);

}  // namespace sluice
