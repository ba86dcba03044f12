// SPDX-License-Identifier: LGPL-3.0-or-later
// update_stats: recent average credit of users, hosts, teams and app versions fades, teams know their size, and rows of
// our tables go that stand for what is gone. Runs once (a <task> of config.xml). Upstream's program of that name.
#include <optional>
#include "config/db_settings.h"

#include "config/load.h"
#include "daemons/statistics/update_stats.h"
#include "sluice/daemon/program.h"

namespace sluice {
namespace {

struct ChosenTables {
    bool users = false, hosts = false, teams = false, versions = false, gone = false;
    int min_age = 86400;
    std::optional<double> message_days;

    double kept_message_days(int compat_level) const { return message_days.value_or(compat_level > 0 ? 30 : 0); }
    bool removes_gone() const { return gone || !(users || hosts || teams || versions); }
    UpdateStatsOptions chosen(bool dry_run, bool by_app) const {
        UpdateStatsOptions options{.min_age = min_age, .dry_run = dry_run};
        const bool all = !(users || hosts || teams || versions || gone);
        options.tables.clear();
        if (all || users) options.tables.push_back(CreditTable::kUser);
        if (all || hosts) options.tables.push_back(CreditTable::kHost);
        if (all || teams) options.tables.push_back(CreditTable::kTeam);
        if (all || versions) options.tables.push_back(CreditTable::kAppVersion);
        if (by_app && (all || users)) options.tables.push_back(CreditTable::kUserByApp);
        if (by_app && (all || teams)) options.tables.push_back(CreditTable::kTeamByApp);
        return options;
    }
};

void define_options(CommandLine& line, ChosenTables& given) {
    line.flag("--update_users", given.users, "only users, and what else is named");
    line.flag("--update_hosts", given.hosts, "only hosts, and what else is named");
    line.flag("--update_teams", given.teams, "only teams, and what else is named");
    line.flag("--update_avs", given.versions, "only app versions, and what else is named");
    line.flag("--remove_gone", given.gone,
              "only rows of Sluice's own tables that stand for what is gone, and what else is named");
    line.option("--message_days", given.message_days,
                "remove trickle messages X days after they came, if they were handled; 0: keep them; default 0, at "
                "<compat_level> 1: 30");
    line.option("--min_age", given.min_age, "leave averages alone that are younger than S seconds; default 86400", "S");
    line.section("EXAMPLES",
                 "Once a day, as a task of config.xml:\n<task><cmd>update_stats</cmd><period>1 days</period></task>");
}

int run(DaemonStart& start, const ChosenTables& given) {
    const ProjectConfig config = load_config_and_warn(start.settings.project);
    DbSettings settings = db_settings(config);
    settings.read_uncommitted = true;
    settings.read_only = start.dry_run;
    Database db(settings);
    const auto store = make_statistics_store(db);
    const auto gone = make_gone_rows_store(db, start.dry_run, given.kept_message_days(config.compat_level));
    UpdateStatsOptions options = given.chosen(start.dry_run, config.credit_by_app);
    if (given.removes_gone()) options.gone_rows = gone.get();
    UpdateStats task(*store, std::move(options), start.env.clock);
    return start.run(task);
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
    using namespace sluice;
    ChosenTables given;
    const DaemonProgram program{
        .summary = "let recent average credit fade, and count the members of teams",
        .description =
            "Recent average credit (expavg_credit) halves each week in which nothing is granted. The validator does that "
            "when it grants credit; this program does it for users, hosts, teams and app versions that get none, and with <credit_by_app> for their credit by app. It also "
            "counts the members of teams (nusers). It removes rows of Sluice's own tables whose host, user, batch, job or day is gone. Run it once a day, as a <task> in config.xml. It works in small "
            "statements, and may be stopped and run again at any time.",
        .settings = {.name = "update_stats", .lock_name = "update_stats"},
        .lifetime = Lifetime::kAlwaysOnce,
        .has_dry_run = true,
        .options = [&](CommandLine& line) { define_options(line, given); },
        .check =
            [&](DaemonStart&) {
                return given.min_age < 0                    ? "--min_age is below 0"
                       : given.message_days.value_or(0) < 0 ? "--message_days is below 0"
                                                            : "";
            },
        .run = [&](DaemonStart& start) { return run(start, given); }};
    return daemon_main(program, argc, argv);
}
