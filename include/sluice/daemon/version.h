// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once

namespace sluice {

/// What all programs print with --version: "0.2.0", or "0.2.0-14-gfc0ffee5" for the 14th commit after that release.
const char* sluice_version();

}  // namespace sluice
