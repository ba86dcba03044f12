// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <string>
#include <vector>

#include "config/run/commands.h"

namespace sluice {

struct RemoteCall {
    std::string name;                    ///< start, stop or status
    std::vector<std::string> arguments;  ///< as given here
    RemoteCall(std::string program, const char* const* begin, const char* const* end)
        : name(std::move(program)), arguments(begin, end) {}
};

/// ssh HOST cd PROJECT/bin && ./NAME ARGUMENTS, for each other host that has daemons or tasks, one after the
/// other. False if one of them failed (it has been told).
bool run_on_other_hosts(const RunContext& context, const std::string& ssh, const RemoteCall& call);

}  // namespace sluice
