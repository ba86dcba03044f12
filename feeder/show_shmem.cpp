// SPDX-License-Identifier: LGPL-3.0-or-later
// show_shmem: prints the job array. Reads only; claims nothing.
#include <cstdio>

#include "config/load.h"
#include "feeder/array_mirror.h"
#include "sluice/base/clock.h"
#include "sluice/base/log.h"
#include "sluice/base/project.h"
#include "sluice/daemon/command_line.h"
#include "sluice/shmem/other_feeder.h"

namespace sluice {
namespace {

std::unique_ptr<JobArray> attach(const JobArrayName& name) {
    try {
        return JobArray::attach_read_only(name);
    } catch (const FeederNotRunning& e) {
        throw FeederNotRunning(e.what() + feeder_with_another_key(name.lock_file));
    }
}

int show_shmem_main(int argc, char** argv) {
    CommandLine line("show_shmem", "prints the job array that the feeder fills",
                     "By default everything: state, tables, one line a slot.");
    bool shape = false, json = false;
    line.flag("--shape", shape, "only a table of the jobs by app, size class, HR class and age");
    line.flag("--json", json, "everything as JSON");
    line.section("EXIT STATUS", "0: printed. 1: there is no job array, or it can't be read.");
    if (const auto status = line.parse(argc, argv)) return *status;
    try {
        const ProjectConfig config = load_config(find_project_dir()).config;
        const auto array = attach(job_array_name(config.shmem_key, config.project_dir));
        ArrayView view = look_at_array(*array, SystemClock().now_sec());
        for (const TriggerFile& t : triggers_present(config.project_dir)) view.triggers.push_back(trigger_text(t));
        std::fputs((json ? array_json(view) : shape ? shape_text(view) : dump_text(view)).c_str(), stdout);
        return 0;
    } catch (const std::exception& e) {
        log_critical("{}", e.what());
        return 1;
    }
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) { return sluice::show_shmem_main(argc, argv); }
