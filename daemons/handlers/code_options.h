// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Options of the daemons that ask a project's program.
#include <string>
#include <vector>

#include "config/project_config.h"
#include "daemons/handlers/handler_process.h"
#include "sluice/daemon/program.h"

namespace sluice {

class CodeOptions {
  public:
    static std::string description(const std::string& of_what);
    void define(CommandLine& line);
    /// "" or what is wrong.
    std::string check() const;
    HandlerStart start() const { return start_; }

  private:
    HandlerStart start_;
};

WireHello hello_of(const ProjectConfig& config, const DaemonStart& start, const std::string& app);

}  // namespace sluice
