// SPDX-License-Identifier: LGPL-3.0-or-later
// script_validator: scripts of the project check and compare results. Upstream's program of that name, same options.
#include "daemons/validator/json_judge.h"
#include "daemons/validator/program.h"
#include "daemons/validator/script_judge.h"
#include "sluice/base/error.h"

namespace sluice {
namespace {

struct ScriptValidatorWords {
    std::string init, compare;
    JudgingScripts scripts;
    JsonScriptOptions json;
};

void define(CommandLine& line, ScriptValidatorWords& t) {
    line.option("--init_script", t.init,
                "script that checks a result, and what it is given: files result_id runtime; alone: files",
                "\"S token …\"");
    line.option("--compare_script", t.compare,
                "script that compares two results: files result_id runtime, of the second files2 result_id2 runtime2; "
                "alone: files files2",
                "\"S token …\"");
    define_json_script(line, t.json);
    line.option("--time_limit", t.scripts.time_limit,
                "a script that runs longer is killed, and called again later; default 600; 0: no limit", "S");
}

std::string check_words(ScriptValidatorWords& t) {
    const bool has_json = !t.json.command.empty(), has_others = !t.init.empty() || !t.compare.empty();
    if (!has_json && !has_others) return "--init_script, --compare_script or --json_script is required";
    if (has_json && has_others) return "--json_script takes the place of --init_script and --compare_script";
    if (std::string wrong = wrong_json_script(t.json); !wrong.empty()) return wrong;
    if (t.scripts.time_limit < 0) return "--time_limit is below 0; 0: no limit";
    try {
        if (!t.init.empty()) t.scripts.init = parse_init_script(t.init);
        if (!t.compare.empty()) t.scripts.compare = parse_compare_script(t.compare);
    } catch (const ConfigError& e) {
        return e.what();
    }
    return "";
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    ScriptValidatorWords typed;
    const ValidatorProgram program{
        .name = "script_validator",
        .summary = "validate results with scripts of the project",
        .description =
            "The scripts lie in bin/. Exit status 0: the result is good, or the two agree; 3: try again later; "
            "anything else: the result is an error, or the two differ. A script that is killed or can't be started is "
            "called again later, as after 3. --json_script starts one script for all results, which is much faster.",
        .options = [&](CommandLine& line, ValidatorOptions&) { define(line, typed); },
        .check = [&] { return check_words(typed); },
        .gives_credit = [&] { return !typed.json.command.empty(); },
        .judge = [&](const ProjectConfig& config, const DaemonStart& start) -> std::unique_ptr<Judge> {
            if (!typed.json.command.empty())
                return std::make_unique<JsonJudge>(
                    typed.json, JsonScriptPlaces{start.settings.project, config.upload_dir}, start.env.clock);
            return std::make_unique<ScriptJudge>(typed.scripts, start.settings.project / "bin", start.env.clock);
        }};
    return validator_main(program, argc, argv);
}
