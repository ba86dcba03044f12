// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <functional>
#include <string>

#include "sluice/model/codes.h"

namespace sluice {

/// The resource that versions with a plan class are for: what PlanClasses::resource() says at the project's level.
using ResourceOf = std::function<ProcType(const std::string& plan_class)>;

}  // namespace sluice
