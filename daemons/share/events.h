// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What sluice_share does: events of users and batches in, the tags after each of them out.
#include <string>

#include "sluice/json/input.h"

namespace sluice {

/// `document`: {"rule": "seed"|"settled", "clamp": project-seconds, "events": [...]}, see sluice_share --help. Returns
/// the JSON document of the tags after each event. Throws json::InputError, whose text names the event.
std::string tags_after_events(const json::Object& document);

}  // namespace sluice
