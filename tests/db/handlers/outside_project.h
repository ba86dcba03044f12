// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A project's own program, built against an installed Sluice outside our tree, and run in a project with a database.
#include <sys/stat.h>

#include <string>
#include <vector>

#include "tests/db/work/work_chain.h"
#include "tests/support/paths.h"

namespace sluice::test {

/// What projects need of Sluice, installed once for the whole test program.
inline const fs::path& installed_sluice() {
    static const TempDir folder;
    static const bool installed = [] {
        const RunResult r = run({SLUICE_CMAKE, "--install", binary_dir() + "/daemons/handlers", "--component",
                                 "project_code", "--prefix", folder.path().string()});
        if (r.status != 0) throw std::runtime_error("cmake --install: " + r.err);
        return true;
    }();
    static_cast<void>(installed);
    return folder.path();
}

class OutsideProject : public WorkChain {
  protected:
    OutsideProject() {
        fs::create_symlink(SLUICE_BIN "/sluice_validator", project_ / "bin/sluice_validator");
        fs::create_symlink(SLUICE_BIN "/sluice_assimilator", project_ / "bin/sluice_assimilator");
    }
    /// As an admin types it, in a folder of sources.
    RunResult type(const std::string& commands, const fs::path& folder) {
        RunOptions options = with_folders();
        options.cwd = folder;
        return run({"/bin/sh", "-ec", commands}, options, 60);
    }
    /// A program of PROJECT/bin.
    RunResult run_own(std::vector<std::string> args) {
        args[0] = (project_ / "bin" / args[0]).string();
        RunOptions options = with_folders();
        options.cwd = project_.path();
        return run(args, options, 60);
    }
    RunOptions with_folders() const {
        RunOptions options;
        options.env = {{"BOINC_PROJECT_DIR", project_.path().string()},
                       {"PROJECT", project_.path().string()},
                       {"SLUICE", installed_sluice().string()}};
        return options;
    }
    TempDir source_;
};

}  // namespace sluice::test
