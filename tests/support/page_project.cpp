// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/support/page_project.h"

#include <stdexcept>
#include <string>
#include <vector>

#include "sluice/base/project.h"
#include "tests/support/accounts.h"
#include "tests/support/paths.h"

namespace sluice::test {

void make_page_project(const std::filesystem::path& root) {
    std::vector<std::string> words = {binary_dir() + "/bin/make_project",
                                      "--no_db",
                                      "--copy",
                                      "--name",
                                      "tiles",
                                      "--root",
                                      root.string(),
                                      "--url_base",
                                      "http://127.0.0.1",
                                      "--install_from",
                                      binary_dir()};
    for (const std::string& word : make_project_accounts()) words.push_back(word);
    const RunResult made = run(words, {.run_as = Role::kRoot});
    if (made.status != 0) throw std::runtime_error(made.err);
}

std::unique_ptr<Subprocess> start_scheduler_of(const std::filesystem::path& root) {
    RunOptions in_project;
    in_project.env["BOINC_PROJECT_DIR"] = root.string();
    const std::string socket = (root / ("pid_" + short_host_name()) / "cgi.sock").string();
    auto scheduler = std::make_unique<Subprocess>(
        std::vector<std::string>{(root / "cgi-bin/cgi").string(), "--listen", socket, "--processes", "2"}, in_project);
    if (!scheduler->wait_for_output("listening on")) throw std::runtime_error(scheduler->err());
    return scheduler;
}

}  // namespace sluice::test
