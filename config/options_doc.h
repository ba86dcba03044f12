// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <string>

namespace sluice {

/// docs/options.md, from the option table.
std::string options_markdown();

}  // namespace sluice
