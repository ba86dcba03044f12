// stage_file: puts input files into the download hierarchy (upstream's program of that name, same options).
#include <fmt/core.h>

#include "config/load.h"
#include "daemons/work/staging.h"
#include "sluice/base/error.h"
#include "sluice/base/log.h"
#include "sluice/base/project.h"
#include "sluice/daemon/command_line.h"

int main(int argc, char** argv) {
    using namespace sluice;
    namespace fs = std::filesystem;
    StageOptions options;
    bool verbose = false;
    std::vector<std::string> paths;
    CommandLine line("stage_file", "put input files into the download hierarchy",
                     "Each file, or each regular file of a folder, is moved to DOWNLOAD/HASH/NAME; NAME.md5 is written "
                     "beside it. A file of the same name with other content is refused.");
    line.flag("--copy", options.copy, "copy instead of moving");
    line.flag("--gzip", options.gzip, "make NAME.gz too, for templates with <gzip/>");
    line.flag("--verbose", verbose, "say what is done");
    line.positional("path", paths, "files or folders");
    try {
        log_open({});
        if (const auto status = line.parse(argc, argv)) return *status;
        if (paths.empty()) return line.fail("give a file or a folder");
        const ProjectConfig config = load_config_and_warn(find_project_dir());
        const StagingSettings settings{config.download_dir, config.download_url, config.uldl_dir_fanout,
                                       config.cache_md5_info};
        const auto stage = [&](const fs::path& file) {
            stage_file(file, settings, options);
            if (verbose) fmt::print("staged {}\n", file.string());
        };
        for (const fs::path path : paths) {
            if (!fs::is_directory(path)) {
                stage(path);
                continue;
            }
            std::vector<fs::path> files;
            for (const auto& entry : fs::directory_iterator(path))
                if (entry.is_regular_file()) files.push_back(entry.path());
            for (const auto& file : files) stage(file);
        }
        return 0;
    } catch (const std::exception& e) {
        fmt::print(stderr, "stage_file: {}\n", e.what());
        return 1;
    }
}
