#pragma once
// What `sluice_sim client` does: the state of a client in, what its policies decide out.
#include <string>

#include "sluice/json/input.h"

namespace sluice {

/// `document`: see sluice_sim --help. Returns the decisions as JSON. Throws json::InputError.
std::string client_decisions(const json::Object& document);

}  // namespace sluice
