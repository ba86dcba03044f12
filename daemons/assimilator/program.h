// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What the main() of every assimilator has in common: upstream's options, config, database and loop. A program brings
// its name, its own options, and its handler.
#include <functional>
#include <memory>
#include <string>

#include "config/project_config.h"
#include "daemons/assimilator/assimilator.h"
#include "sluice/daemon/program.h"

namespace sluice {

struct AssimilatorProgram {
    std::string name, summary, description;  ///< as CommandLine's
    /// Defines its own options. May be empty.
    std::function<void(CommandLine&)> options = {};
    /// "" or what is wrong with their values. May be empty.
    std::function<std::string()> check = {};
    std::function<std::unique_ptr<AssimilateHandler>(const AssimilatorOptions&, const ProjectConfig&,
                                                     const DaemonStart&)>
        handler = {};
};

/// The whole of an assimilator's main(): returns its exit status.
int assimilator_main(const AssimilatorProgram& program, int argc, const char* const* argv);

}  // namespace sluice
