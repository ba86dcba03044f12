// SPDX-License-Identifier: LGPL-3.0-or-later
// feeder: keeps the job array full. Stands for upstream's feeder and feeder_user.
#include "config/load.h"
#include "config/run/own_programs.h"
#include "feeder/command.h"
#include "feeder/feeder_loop.h"
#include "sluice/base/log.h"

namespace {

using namespace sluice;

int run(const FeederOptions& options, DaemonStart& start) {
    const ProjectConfig config = load_config_and_warn(start.settings.project);
    if (const ForeignPrograms foreign = foreign_programs(config.project_dir); !foreign.names.empty())
        log_critical("{}", foreign.line);
    FeederLoop feeder(config, options, start.env);
    const int status = start.loop([&] { return feeder.pass(); });
    feeder.end(options.one_pass && status == 0);
    return status;
}

}  // namespace

int main(int argc, char** argv) {
    FeederOptions options;
    DaemonProgram program = feeder_program(argc, argv, options);
    program.run = [&](DaemonStart& start) { return run(options, start); };
    return daemon_main(program, argc, argv);
}
