// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The state of one client as a file has it: what the policies need, and the names of its things.
#include <string>
#include <vector>

#include "sluice/client_policy/state.h"
#include "sluice/json/input.h"

namespace sluice {

struct ClientFile {
    client::State state;
    std::vector<std::string> types, projects, jobs;  ///< names, in the order of the state's lists
};

/// A STATE of `sluice_sim client` (see --help). Throws json::InputError.
ClientFile read_client_json(const json::Object& document);

/// A client_state.xml as boinc-client 7 writes it, at the moment of its writing. Buffers and the time slice come from
/// global_prefs.xml and global_prefs_override.xml in the same folder, the number of CPUs also from cc_config.xml. What
/// is missing there has the client's defaults. Throws FileError, json::InputError.
ClientFile read_client_state(const std::string& file, const std::string& text);

// What `sluice_sim client` does: the state of a client in, what its policies decide out.

/// The decisions as JSON.
std::string client_decisions(const ClientFile& file);
/// The same of a file, "-" for standard input: JSON, or a client_state.xml. Throws FileError, json::InputError.
std::string client_decisions(const std::string& file);

}  // namespace sluice
