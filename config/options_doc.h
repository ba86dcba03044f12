#pragma once
#include <string>

namespace sluice {

/// docs/options.md, from the option table.
std::string options_markdown();

}  // namespace sluice
