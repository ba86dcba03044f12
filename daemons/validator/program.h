// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What the main() of every validator has in common: upstream's options, config, database and loop. A program brings its
// name, its own options, and its judge.
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "config/project_config.h"
#include "daemons/validator/judge.h"
#include "daemons/validator/validator.h"
#include "sluice/daemon/program.h"

namespace sluice {

struct ValidatorProgram {
    std::string name, summary, description;  ///< as CommandLine's
    /// Defines its own options. May be empty.
    std::function<void(CommandLine&, ValidatorOptions&)> options = {};
    /// "" or what is wrong with their values. May be empty.
    std::function<std::string()> check = {};
    /// Whether its judge says what results are worth, for --post_assigned_credit. Empty: it does not.
    std::function<bool()> gives_credit = {};
    /// Who judges; empty: files are compared byte by byte.
    std::function<std::unique_ptr<Judge>(const ProjectConfig&, const DaemonStart&)> judge = {};
};

/// The whole of a validator's main(): returns its exit status.
int validator_main(const ValidatorProgram& program, int argc, const char* const* argv);

}  // namespace sluice
