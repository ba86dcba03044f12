// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What `sluice_sim client` does: the state of a client in, what its policies decide out.
#include <string>

#include "sched/sim/client_state_file.h"

namespace sluice {

/// The decisions as JSON.
std::string client_decisions(const ClientFile& file);
/// The same of a file, "-" for standard input: JSON, or a client_state.xml. Throws FileError, json::InputError.
std::string client_decisions(const std::string& file);

}  // namespace sluice
