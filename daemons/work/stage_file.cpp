// SPDX-License-Identifier: LGPL-3.0-or-later
// stage_file: puts input files into the download hierarchy (upstream's program of that name, same options).
#include <fmt/core.h>

#include <cstdio>

#include "config/db_settings.h"
#include "config/load.h"
#include "config/project/download_files.h"
#include "daemons/work/staging.h"
#include "sluice/base/download_folder.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/base/project.h"
#include "sluice/base/users.h"
#include "sluice/daemon/program.h"

namespace sluice {
namespace {

/// The files meant by the command line: themselves, and the regular files of folders.
std::vector<fs::path> files_of(const std::vector<std::string>& paths) {
    std::vector<fs::path> files;
    for (const fs::path path : paths) {
        if (!fs::is_directory(path)) {
            files.push_back(path);
            continue;
        }
        for (const auto& entry : fs::directory_iterator(path))
            if (entry.is_regular_file()) files.push_back(entry.path());
    }
    return files;
}

/// All are looked at before the first is published.
void check_all(const std::vector<fs::path>& files, const ProjectConfig& config, bool consent) {
    for (const fs::path& file : files) {
        if (is_secret(file, config.project_dir, config.key_dir))
            throw FileError(file.string() + " is a secret of the project and is never published");
        if (consent) continue;
        const std::string why = consent_needed(file, config.project_dir);
        if (!why.empty()) throw FileError(why + "; nothing was published");
    }
}

/// Only an empty folder makes the database worth asking; where that can't tell, a new project is to be filled.
void require_mounted(const ProjectConfig& config) {
    if (config.db_name.empty() || has_files(config.download_dir)) return;
    std::string away;
    try {
        Database db(db_settings(config));
        away = missing_download_files(config, *make_project_setup_store(db));
    } catch (const DbError&) {
    }
    if (!away.empty()) throw FileError(away);
}

void stage(const std::vector<std::string>& paths, const StageOptions& options, bool consent, bool verbose) {
    const fs::path project = find_project_dir();
    refuse_root_in_project_of_another("bin/stage_file", project);
    const ProjectConfig config = load_config_and_warn(project);
    const StagingSettings settings{config.download_dir, config.download_url, config.uldl_dir_fanout,
                                   config.cache_md5_info};
    const std::vector<fs::path> files = files_of(paths);
    check_all(files, config, consent);
    require_mounted(config);
    for (const fs::path& file : files) {
        const StagedFile staged = stage_file(file, settings, options);
        fmt::print("published {} as {}\n", file.string(), staged.url);
        if (verbose) fmt::print("  {}\n", fanout_path(settings.download_dir, staged.name, settings.fanout).string());
    }
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    StageOptions options;
    bool verbose = false, move = false;
    std::vector<std::string> paths;
    CommandLine line(
        "stage_file", "put input files into the download hierarchy",
        "Moves each file, or each regular file of a folder, to DOWNLOAD/HASH/NAME, where everybody can "
        "fetch it. Writes NAME.md5 beside it, and prints a line for each. It publishes no file "
        "whose name another file with other content has there. It takes files from outside the project only with "
        "--copy or --move.");
    line.flag("--copy", options.copy, "copy instead of moving");
    line.flag("--move", move, "move files from anywhere");
    line.flag("--gzip", options.gzip, "make NAME.gz too, for templates with <gzip/>");
    line.flag("--verbose", verbose, "say where the file lies, too");
    line.section("EXIT STATUS", "0: all are published. 1: one was refused or could not be.");
    line.positional("path", paths, "files or folders");
    return tool_main({"stage_file"}, [&] {
        log_open({});
        if (const auto status = line.parse(argc, argv)) return *status;
        if (paths.empty()) return line.fail("give a file or a folder");
        if (options.copy && move) return line.fail("--copy or --move, not both");
        stage(paths, options, options.copy || move, verbose);
        return 0;
    });
}
