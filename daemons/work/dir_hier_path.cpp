// SPDX-License-Identifier: LGPL-3.0-or-later
// dir_hier_path: says where an input file belongs in the download hierarchy. Upstream's program of that name.
#include <fmt/core.h>

#include "config/load.h"
#include "daemons/work/staging.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/base/project.h"
#include "sluice/base/users.h"
#include "sluice/daemon/program.h"

namespace sluice {
namespace {

int say_where(const std::string& name) {
    const fs::path project = find_project_dir();
    refuse_root_in_project_of_another("bin/dir_hier_path", project);
    const ProjectConfig config = load_config_and_warn(project);
    const fs::path file = fanout_path(config.download_dir, name, config.uldl_dir_fanout);
    make_hash_folder(file, config.download_dir);
    fmt::print("{}\n", file.string());
    return 0;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    std::vector<std::string> names;
    CommandLine line(
        "dir_hier_path", "say where an input file belongs in the download hierarchy",
        "Prints DOWNLOAD/HASH/FILE, and makes the folder HASH if it is not there. For scripts that write input files "
        "into their place themselves; stage_file moves files that are there.");
    line.section("EXAMPLES", "cp part_17 $(bin/dir_hier_path part_17)");
    line.section("EXIT STATUS", "0: the path is printed. 1: it could not be.");
    line.positional("FILE", names, "name of the file, without a folder");
    return tool_main({"dir_hier_path"}, [&] {
        log_open({});
        if (const auto status = line.parse(argc, argv)) return *status;
        if (names.size() != 1) return line.fail("give the name of one file");
        if (!is_valid_file_name(names[0]) || names[0].find('/') != names[0].npos)
            return line.fail("FILE is the name of a file, without a folder");
        return say_where(names[0]);
    });
}
