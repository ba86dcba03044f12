// SPDX-License-Identifier: LGPL-3.0-or-later
#include "daemons/validator/program.h"

#include <fmt/core.h>

#include "config/db_settings.h"
#include "config/load.h"

namespace sluice {
namespace {

struct ValidatorWords {
    ValidatorOptions options;
    bool from_wu = false, from_runtime = false, from_judge = false, none = false;
    bool punitive = false, credited_job = false;  ///< upstream's, refused with advice
};

void define_options(CommandLine& line, ValidatorWords& t) {
    ValidatorOptions& o = t.options;
    line.option("--app", o.app_name, "app whose workunits are validated (required)", "NAME");
    line.option("--one_pass_N_WU", o.one_pass_n_wu, "stop after N workunits");
    line.option("--wu_id", o.filter.wu_id, "only this workunit", "ID");
    line.option("--min_wu_id", o.filter.min_wu_id, "only ids from this one on", "ID");
    line.option("--max_wu_id", o.filter.max_wu_id, "only ids up to this one", "ID");
    line.amount_option("--max_granted_credit", o.max_granted_credit, "no result gets more; 0 = no limit");
    line.flag("--credit_from_wu", t.from_wu, "credit is what create_work --credit said");
    line.flag("--credit_from_runtime", t.from_runtime, "credit is run time times speed");
    line.flag("--post_assigned_credit", t.from_judge,
              "credit is what the project's script or program says of the canonical result");
    line.flag("--check_punitive", t.punitive, "upstream's; not in Sluice");
    line.flag("--update_credited_job", t.credited_job, "upstream's; not in Sluice");
    line.flag("--no_credit", t.none, "grant no credit");
}

std::string take(ValidatorWords& t, const ValidatorProgram& program, DaemonStart& start) {
    ValidatorOptions& o = t.options;
    if (o.app_name.empty()) return "--app is required";
    if (t.punitive)
        return "--check_punitive is not in Sluice: leave it out; hosts whose jobs fail get fewer of them each day "
               "(<daily_result_quota>)";
    if (t.credited_job)
        return "--update_credited_job is not in Sluice: leave it out; fill the table credited_job yourself before "
               "db_purge, from result.userid and workunit.opaque of the valid results";
    if (t.from_judge && !(program.gives_credit && program.gives_credit()))
        return "--post_assigned_credit is not in Sluice for this validator, and would grant nothing: leave it out; only "
               "script_validator --json_script and a validator of the project's own say what a result is worth";
    if (t.from_wu) o.credit = CreditMode::kFromWorkunit;
    if (t.from_runtime) o.credit = CreditMode::kFromRuntime;
    if (t.from_judge) o.credit = CreditMode::kFromJudge;
    if (t.none) o.credit = CreditMode::kNone;
    o.filter.share = start.share;
    o.dry_run = start.dry_run;
    o.every = start.settings.sleep_interval;
    if (o.filter.wu_id != 0) start.settings.one_pass = true;
    return "";
}

/// Of each share of the work its own.
std::filesystem::path failures_file(const ValidatorOptions& options, const DaemonStart& start) {
    const IdShare share = options.filter.share;
    const std::string of = share.n == 0 ? "" : fmt::format("_{}_{}", share.n, share.i);
    const std::string name = fmt::format("validator_{}{}.state", options.app_name, of);
    return is_valid_file_name(name) ? start.settings.project / name : std::filesystem::path();
}

int run(const ValidatorProgram& program, ValidatorOptions& options, DaemonStart& start) {
    const ProjectConfig config = load_config_and_warn(start.settings.project);
    Database db(db_settings(config));
    const auto store = make_validate_store(db);
    const std::unique_ptr<Judge> judge = program.judge ? program.judge(config, start) : nullptr;
    options.judge = judge.get();
    if (judge != nullptr && !options.dry_run) options.failures_file = failures_file(options, start);
    Validator validator(options, config, *store, start.env.clock);
    return start.run(validator);
}

}  // namespace

int validator_main(const ValidatorProgram& program, int argc, const char* const* argv) {
    ValidatorWords typed;
    const DaemonProgram daemon{.summary = program.summary,
                               .description = program.description,
                               .settings = {.name = program.name},
                               .has_mod = true,
                               .has_dry_run = true,
                               .options =
                                   [&](CommandLine& line) {
                                       define_options(line, typed);
                                       if (program.options) program.options(line, typed.options);
                                   },
                               .check =
                                   [&](DaemonStart& start) {
                                       const std::string wrong = program.check ? program.check() : "";
                                       return wrong.empty() ? take(typed, program, start) : wrong;
                                   },
                               .run = [&](DaemonStart& start) { return run(program, typed.options, start); }};
    return daemon_main(daemon, argc, argv);
}

}  // namespace sluice
