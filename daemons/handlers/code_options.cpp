// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/handlers/code_options.h"

#include "sluice/base/log.h"

namespace sluice {

std::string CodeOptions::description(const std::string& of_what) {
    return "PROGRAM says what " + of_what +
           ". It runs in a process of its own: if it crashes, hangs or takes too much memory, the workunit comes again "
           "later, and the others go on. Started by its own name, PROGRAM starts this daemon. Options that this daemon "
           "does not know are PROGRAM's.";
}

void CodeOptions::define(CommandLine& line) {
    line.option("--program", start_.program, "path of the project's program (required)", "PROGRAM");
    line.option("--code_time_limit", start_.time_limit,
                "PROGRAM is ended if it takes longer for one workunit; default 600; 0: no limit", "S");
    line.option("--code_memory_limit", start_.memory_limit,
                "private memory that PROGRAM may have; default: half of the machine's; 0: no limit", "MIB");
    line.rest(start_.words);
}

std::string CodeOptions::check() const {
    if (start_.program.empty()) return "--program is required";
    if (start_.time_limit < 0) return "--code_time_limit is below 0; 0: no limit";
    if (start_.memory_limit < -1) return "--code_memory_limit is below 0; 0: no limit";
    return "";
}

WireHello hello_of(const ProjectConfig& config, const DaemonStart& start, const std::string& app) {
    WireHello hello;
    hello.project_dir = start.settings.project.string();
    hello.upload_dir = config.upload_dir;
    hello.download_dir = config.download_dir;
    hello.app_name = app;
    hello.uldl_dir_fanout = config.uldl_dir_fanout;
    hello.debug_level = static_cast<int>(log_level());
    hello.dry_run = start.dry_run;
    return hello;
}

}  // namespace sluice
