// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What sluice_plan does: hosts and a number of jobs in, T and H out.
#include <string>

#include "sluice/json/input.h"

namespace sluice {

/// `document`: see sluice_plan --help. Returns the plan as JSON. Throws json::InputError.
std::string plan_document(const json::Object& document);

}  // namespace sluice
