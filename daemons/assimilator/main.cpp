// SPDX-License-Identifier: LGPL-3.0-or-later
// script_assimilator: runs a script for every workunit that has its canonical result, or failed. Upstream's program of
// that name, same options.
#include "daemons/assimilator/json_handler.h"
#include "daemons/assimilator/program.h"
#include "daemons/assimilator/script.h"
#include "sluice/base/error.h"
#include "sluice/base/process.h"

int main(int argc, char** argv) {
    using namespace sluice;
    std::string script;
    double time_limit = kScriptTimeLimit;
    JsonScriptOptions json;
    const AssimilatorProgram program{
        .name = "script_assimilator",
        .summary = "run a script for every finished workunit",
        .description =
            "The script is bin/SCRIPT. Exit status 0 means that the workunit is done; otherwise it is called again "
            "later. For a workunit that failed it is called as SCRIPT --error MASK WUNAME WUID BATCH. --json_script "
            "starts one script for all workunits, which is much faster.",
        .options =
            [&](CommandLine& line) {
                line.option("--script", script,
                            "script and what it is given: files files2 wu_id wu_name result_id runtime batch_id "
                            "(required, or --json_script)",
                            "\"S token …\"");
                define_json_script(line, json);
                line.option(
                    "--time_limit", time_limit,
                    "a script that runs longer is killed, and called again later: exit status 124; default 600; "
                    "0: no limit",
                    "S");
            },
        .check = [&]() -> std::string {
            if (script.empty() && json.command.empty()) return "--app and --script are required";
            if (!script.empty() && !json.command.empty()) return "--json_script takes the place of --script";
            if (std::string wrong = wrong_json_script(json); !wrong.empty()) return wrong;
            return time_limit < 0 ? "--time_limit is below 0; 0: no limit" : "";
        },
        .handler = [&](const AssimilatorOptions& options, const ProjectConfig& config,
                       const DaemonStart& start) -> std::unique_ptr<AssimilateHandler> {
            if (!json.command.empty())
                return std::make_unique<JsonHandler>(options.app_name, json,
                                                     JsonScriptPlaces{start.settings.project, config.upload_dir},
                                                     start.env.clock);
            return std::make_unique<ScriptHandler>(script, start.settings.project / "bin", time_limit, start.env.clock);
        }};
    return assimilator_main(program, argc, argv);
}
