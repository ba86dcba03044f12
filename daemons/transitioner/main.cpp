// transitioner: moves workunits and their results along: makes the instances, times out those that were not returned,
// asks for validation, gives up on jobs that fail too often, hands over to the assimilator and releases files for
// deletion. Upstream's program of that name, same options. Several may run, with --mod or without.
#include "config/db_settings.h"
#include "config/load.h"
#include "daemons/transitioner/transitioner.h"
#include "sluice/base/error.h"
#include "sluice/base/log.h"
#include "sluice/base/project.h"
#include "sluice/daemon/command_line.h"

namespace sluice {
namespace {

struct Arguments {
    TransitionerOptions options;
    DaemonSettings daemon;
    std::vector<std::int64_t> mod;
    std::int64_t wu_id = INT64_MIN;  ///< not given
};

void define_options(CommandLine& line, Arguments& a) {
    line.flag("--one_pass", a.daemon.one_pass, "do what is due now, then exit");
    line.option("--mod", a.mod, 2, "only workunits with id mod N = I", "N I");
    line.option("--wu_id", a.wu_id, "only this workunit, due or not; then exit", "ID");
    line.option("--sleep_interval", a.daemon.sleep_interval, "seconds between passes that found nothing; default 5");
    line.flag("--dry_run", a.options.dry_run, "print what would become of the workunits that are due, write nothing");
    line.debug_level_option();
    line.section("FILES",
                 "config.xml of the project; the result template of each workunit, below the project; "
                 "keys/upload_private unless <dont_generate_upload_certificates> is set; stop_daemons ends it.");
    line.section(
        "EXIT STATUS",
        "0 when it was told to stop or --one_pass is done. 1 on a wrong command line, config.xml or key, and when "
        "--one_pass can't use the database. Without --one_pass it waits for a database that is away.");
}

/// True if --mod is as it should be, or absent.
bool take_mod(Arguments& a) {
    if (a.mod.empty()) return true;
    a.options.scope.modulus = a.mod[0];
    a.options.scope.remainder = a.mod[1];
    return a.mod[0] > 0 && a.mod[1] >= 0 && a.mod[1] < a.mod[0];
}

TransitionParams params_of(const ProjectConfig& config) {
    return {.compat_level = config.compat_level,
            .priority_on_over = config.reliable_priority_on_over,
            .priority_on_over_except_error = config.reliable_priority_on_over_except_error,
            .delete_delay = config.delete_delay(),
            .hr_class_static = config.hr_class_static,
            .daily_result_quota = config.daily_result_quota};
}

int run(Arguments& a) {
    a.daemon.name = "transitioner";
    a.daemon.project = find_project_dir();
    const ProjectConfig config = load_config_and_warn(a.daemon.project);
    std::optional<PrivateKey> signer;
    if (!config.dont_generate_upload_certificates)
        signer = PrivateKey::read(std::filesystem::path(config.key_dir) / "upload_private");
    ResultTemplates templates(a.daemon.project, config.upload_url, signer ? &*signer : nullptr);
    Database db(db_settings(config));
    const auto store = make_transition_store(db);
    SystemClock clock;
    const auto rng = make_system_rng();
    const Env env{clock, *rng};
    Transitioner transitioner(a.options, params_of(config), *store, templates, env);
    return run_daemon(a.daemon, env, [&] { return transitioner.pass(); });
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    Arguments arguments;
    CommandLine line(
        "transitioner", "move workunits and results through their states",
        "Looks at each workunit whose transition time has come and at all its results, and makes new "
        "results, times out overdue ones, asks for validation, flags errors, hands over to the assimilator "
        "and the file deleter.");
    define_options(line, arguments);
    try {
        log_open({});
        if (const auto status = line.parse(argc, argv)) return *status;
        if (!take_mod(arguments)) return line.fail("--mod N I needs N > 0 and 0 <= I < N");
        if (arguments.daemon.sleep_interval < 0) return line.fail("--sleep_interval can't be negative");
        const bool only_one = arguments.wu_id != INT64_MIN;
        if (only_one && arguments.wu_id <= 0) return line.fail("--wu_id needs the id of a workunit");
        if (only_one) {
            arguments.options.scope.only = arguments.wu_id;
            arguments.daemon.one_pass = true;
        }
        if (arguments.options.dry_run) arguments.daemon.one_pass = true;
        arguments.options.told = arguments.daemon.one_pass;
        return run(arguments);
    } catch (const std::exception& e) {
        log_critical("{}", e.what());
        return 1;
    }
}
