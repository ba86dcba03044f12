// SPDX-License-Identifier: LGPL-3.0-or-later
// rotate_logs: a project's logs stay within a size and an age.
#include "config/load.h"
#include "config/run/configured_programs.h"
#include "daemons/cleaning/log_rotation.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/project.h"
#include "sluice/daemon/program.h"

namespace sluice {
namespace {

struct RotationWords {
    double max_mb = 100, days = 7, keep_days = 60;
    int keep = 8;
    bool plain = false;

    LogBounds bounds() const {
        constexpr double kDay = 86400;
        return {static_cast<std::int64_t>(max_mb * (1 << 20)), days * kDay, keep, keep_days * kDay};
    }
};

void define_options(CommandLine& line, RotationWords& given) {
    line.option("--max_mb", given.max_mb, "rotate a log that has more than X MB (2^20 bytes); default 100", "X");
    line.option("--days", given.days, "rotate a log that was begun more than X days ago; default 7", "X");
    line.option("--keep", given.keep, "keep N old files of each log, and at most N times --max_mb; default 8");
    line.option("--keep_days", given.keep_days, "remove old files X days after they were rotated; default 60", "X");
    line.flag("--no_gzip", given.plain, "do not compress old files");
    line.section(
        "FILES",
        "log_HOST/*.log, *.out, and what <output> of a daemon or task names there or elsewhere: the logs. LOG.YYYYMMDDTHHMMSSZ[.gz]: old files, by "
        "the time (UTC) at which they were rotated. log_HOST/decisions (<decision_log_dir>): a file a day, which "
        "is compressed when the day is over and counts as an old file. <debug_req_reply_dir>: the files of requests, removed "
        "after --keep_days or beyond N times --max_mb.");
    line.section("EXAMPLES",
                 "Each hour, as a task of config.xml:\n<task><cmd>rotate_logs</cmd><period>1 hour</period></task>");
    line.section("EXIT STATUS", "0: done, or stopped. 1: a log could not be rotated; the others were.");
}

std::string wrong(const RotationWords& given) {
    constexpr double kMostMb = 1e8, kMostDays = 1e5;
    if (!(given.max_mb > 0 && given.max_mb <= kMostMb)) return "--max_mb: must be above 0 and at most 1e8";
    if (!(given.days > 0 && given.days <= kMostDays)) return "--days must be above 0 and at most 100000";
    if (!(given.keep_days > 0 && given.keep_days <= kMostDays)) return "--keep_days must be above 0 and at most 100000";
    if (given.keep < 1 || given.keep > 10000) return "--keep must be 1 to 10000";
    return "";
}

int run(DaemonStart& start, const RotationWords& given) {
    const ProjectConfig config = load_config_and_warn(start.settings.project);
    const HostFolders folders = host_folders(config, short_host_name());
    RotationOptions options{.bounds = given.bounds(),
                            .logs = {folders.log, log_dir(start.settings.project)},
                            .decisions = config.decision_log_dir,
                            .requests = config.debug_req_reply_dir,
                            .gzip = !given.plain,
                            .dry_run = start.dry_run};
    const fs::path file = start.settings.project / "config.xml";
    const ConfiguredPrograms programs =
        configured_programs(parse_daemons_and_tasks(read_file(file).value_or(""), file.string()), config, folders);
    for (const auto* list : {&programs.daemons, &programs.tasks})
        for (const ConfiguredProgram& program : *list)
            if (!program.output.string().starts_with("/dev/"))
                options.outputs.insert(program.output.lexically_normal());
    LogRotation task(std::move(options), start.env.clock);
    return start.run(task);
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    RotationWords given;
    const DaemonProgram program{
        .summary = "keep a project's logs within a size and an age",
        .description =
            "Rotates logs of daemons, tasks, scheduler and upload handler that are too long or too old. It compresses the "
            "old files, and removes those beyond the bounds. Sluice's programs notice within a second, or at their next "
            "request, and begin the new log. An old file to which a program still writes is neither compressed nor "
            "removed. Run it each hour, as a <task> in config.xml. It may be stopped, killed and run again at any time.",
        .settings = {.name = "rotate_logs", .one_pass_while_stopped = true, .lock_name = "rotate_logs"},
        .lifetime = Lifetime::kAlwaysOnce,
        .has_dry_run = true,
        .options = [&](CommandLine& line) { define_options(line, given); },
        .check = [&](DaemonStart&) { return wrong(given); },
        .run = [&](DaemonStart& start) { return run(start, given); }};
    return daemon_main(program, argc, argv);
}
