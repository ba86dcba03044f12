#pragma once
// The feeder's command line.
#include <optional>

#include "feeder/options.h"

namespace sluice {

/// nullopt: go on; otherwise the exit status (all is printed).
std::optional<int> parse_feeder_command(int argc, const char* const* argv, FeederOptions& options);

}  // namespace sluice
