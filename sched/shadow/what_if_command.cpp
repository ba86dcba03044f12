// SPDX-License-Identifier: LGPL-3.0-or-later
// sluice what-if: recorded requests against two configurations.
#include <cstdio>
#include <string>
#include <vector>

#include "sched/shadow/comparison_report.h"
#include "sched/shadow/shadow_commands.h"
#include "sched/shadow/what_if.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/log.h"
#include "sluice/base/project.h"
#include "sluice/daemon/command_line.h"
#include "sluice/daemon/subcommand.h"

namespace sluice {
namespace {

constexpr const char* kWhatIfDescription =
    "Decides recorded requests by two files in the place of PROJECT/config.xml, and says what would be another: jobs, "
    "refusals by reason, applications and classes of hosts. With one file the other is PROJECT/config.xml. Database, "
    "array and folders are the project's. Nothing is written.\n\n"
    "Each request is decided by itself, on the state of its moment (sluice shadow says how). What one configuration "
    "would send to one host is not missing for the next.";

struct WhatIfArguments {
    std::vector<std::string> configs, requests;
    std::string project, html;
    std::int64_t seed = 1, examples = 3;
    bool json = false;
};

void define_what_if_options(CommandLine& line, WhatIfArguments& a) {
    line.positional("CONFIG", a.configs, "One or two files like config.xml.");
    line.option("--project", a.project, "the project's folder (default: $BOINC_PROJECT_DIR, else the current folder)",
                "FOLDER");
    line.repeatable("--requests", a.requests,
                    "a folder of recorded requests, or one request; may be given many times (default: "
                    "<debug_req_reply_dir>)",
                    "PATH");
    line.option("--examples", a.examples, "so many examples of each difference (default 3)");
    line.option("--seed", a.seed, "where scans of the array begin (default 1)");
    line.flag("--json", a.json, "one JSON document");
    line.option("--html", a.html, "write a page with plots, too; it loads nothing", "FILE");
    line.section("EXIT STATUS", "0: no difference. 1: differences. 2: it could not be compared.");
    line.section("EXAMPLES", "sluice what-if config.xml.new\nsluice what-if a.xml b.xml --json");
}

}  // namespace

int what_if_command(int argc, const char* const* argv) {
    WhatIfArguments a;
    CommandLine line("sluice what-if", "Says what another configuration would have answered", kWhatIfDescription);
    line.failure_status(kCouldNot);
    define_what_if_options(line, a);
    if (const auto status = line.parse(argc, argv)) return *status;
    if (a.configs.empty() || a.configs.size() > 2) return line.fail("give one or two files like config.xml");
    if (a.examples < 0 || a.examples > 1000) return line.fail("--examples is a number from 0 to 1000");
    LogOptions log;
    log.file = "/dev/null";
    log_open(log);
    const fs::path folder = a.project.empty() ? find_project_dir() : fs::path(a.project);
    const std::string own = (folder / "config.xml").string();
    const std::string first = a.configs.size() == 2 ? a.configs[0] : own, second = a.configs.back();
    LiveProject by_first(folder, {first, ""}, ArrayUse::kIfThere), by_second(folder, {second, ""}, ArrayUse::kIfThere);
    if (a.requests.empty() && !by_first.live.debug_req_reply_dir.empty())
        a.requests.push_back(by_first.live.debug_req_reply_dir);
    if (a.requests.empty()) throw Error("config.xml names no <debug_req_reply_dir>: give --requests");
    std::size_t dropped = 0;
    const std::vector<RpcFile> files = rpc_files(a.requests, dropped);
    if (files.empty()) throw Error(a.requests[0] + " holds no *sched_request.xml");
    Comparison c = compare_configurations(by_first, by_second, files,
                                          {static_cast<std::uint64_t>(a.seed), static_cast<int>(a.examples)});
    c.theirs_name = first;
    c.ours_name = second;
    c.dropped = static_cast<std::int64_t>(dropped);
    if (!a.html.empty()) write_file_atomically(a.html, comparison_html(c));
    std::fputs((a.json ? comparison_json(c) : comparison_text(c)).c_str(), stdout);
    return c.any_difference() ? kDifferences : kNothingToDo;
}

}  // namespace sluice
