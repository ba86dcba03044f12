// SPDX-License-Identifier: LGPL-3.0-or-later
// What `sluice check` makes of crontabs, pages, programs, web servers and rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "config/run/foreground.h"
#include "sched/check/catalogue_findings.h"
#include "sched/check/crontab.h"
#include "sched/check/differences.h"
#include "sched/check/foreign_code.h"
#include "sched/check/machine.h"
#include "sluice/base/files.h"
#include "tests/support/paths.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> ids_of(const std::vector<Finding>& findings) {
    std::vector<std::string> ids;
    for (const Finding& finding : findings) ids.push_back(finding.id);
    return ids;
}

TEST(CronFindings, CommandsStandBehindTimesAndAccount) {
    const auto own = cron_commands(
        "# c\nMAILTO=x@y\nPATH = /bin\n*/5 * * * *\t/p/bin/start --cron\n@reboot /p/bin/start\n\n7", "crontab", false);
    ASSERT_EQ(own.size(), 2u);
    EXPECT_EQ(own[0].command, "/p/bin/start --cron");
    EXPECT_EQ(own[0].line, 4);
    EXPECT_EQ(own[1].command, "/p/bin/start");
    const auto machines = cron_commands("0 1 * * * boinc cd /p && bin/feeder\n", "/etc/crontab", true);
    ASSERT_EQ(machines.size(), 1u);
    EXPECT_EQ(machines[0].command, "cd /p && bin/feeder");
}

TEST(CronFindings, DaemonsAndMissingStartAreNamed) {
    const auto of = [](const std::string& command) {
        return ids_of(cron_findings({{"crontab", 1, command}, {"crontab", 2, "/other/bin/feeder"}}, "/p"));
    };
    EXPECT_THAT(of("/p/bin/start --cron"), IsEmpty());
    EXPECT_THAT(of("/p/bin/start"), ElementsAre("no_cron"));
    EXPECT_THAT(cron_findings({}, "/p").at(0).text, HasSubstr("*/5 * * * * /p/bin/start --cron"));
    const TempDir project;
    project.write(units_mark_file(project.path()).filename(),
                  units_mark_text({"sluice@p.target", "/etc/systemd/system", ""}, project.path()));
    EXPECT_THAT(cron_findings({}, project.path()), IsEmpty()) << "systemd does it";
    EXPECT_THAT(of("cd /p; bin/transitioner -d 3"), ElementsAre("cron_runs_daemon", "no_cron"));
    EXPECT_THAT(of("cd /p/html/ops; ./batch_stats.php; /p/bin/start --cron"), ElementsAre("cron_runs_script"));
    EXPECT_THAT(of("/p/bin/start --cron > /p/feeder.log"), IsEmpty()) << "a file is no program";
}

TEST(PageFindings, ProgramsOfBinAreKnownByTheirPath) {
    EXPECT_THAT(programs_run_by("system('cd ../..; ./bin/create_work -x'); exec(\"bin/dir_hier_path f\");"),
                ElementsAre("create_work", "dir_hier_path"));
    EXPECT_THAT(programs_run_by("#!/usr/bin/env php\n '/bin/rm' 'cgi-bin/cgi' robin/hood"), IsEmpty());
}

TEST(PageFindings, MissingAndSwappedProgramsAreNamed) {
    const TempDir dir;
    dir.write("html/ops/a.php", "exec('../../bin/show_shmem'); exec('../../bin/create_work');");
    dir.write("html/user/b.php", "exec('../../bin/create_work');");
    dir.write("bin/show_shmem", "");
    const auto found = page_findings(dir.path());
    ASSERT_THAT(ids_of(found), ElementsAre("page_runs_missing_program", "page_runs_swapped_program"));
    EXPECT_EQ(found[0].count, 2);
    EXPECT_THAT(found[0].text, HasSubstr("html/ops/a.php and 1 more pages"));
}

TEST(LinkedPrograms, AreKnownByTheNamesOfClasses) {
    const TempDir dir;
    const std::string stretch(1 << 20, 'x');
    EXPECT_TRUE(is_linked_with_boinc(dir.write("far", "\177ELF" + stretch.substr(7) + "11DB_WORKUNIT" + stretch)))
        << "it stands across two stretches";
    EXPECT_TRUE(is_linked_with_boinc(dir.write("shared", "\177ELF libsched.so.7")));
    EXPECT_FALSE(is_linked_with_boinc(dir.write("script", "#!/bin/sh\n# 11DB_WORKUNIT")));
    EXPECT_FALSE(is_linked_with_boinc(fs::path(binary_dir()) / "bin/feeder")) << "ours";
    EXPECT_FALSE(is_linked_with_boinc(dir.write("own", "\177ELF 9DB_RESULT" + stretch + "SLUICE_HANDLER_SOCKET")))
        << "with our library for projects, whose classes have the same names";
    EXPECT_FALSE(is_linked_with_boinc(dir / "none"));
}

TEST(WebServerFindings, AProjectThatIsPublishedWholeIsUnsafe) {
    EXPECT_THAT(lines_that_open("DocumentRoot \"/p/html/user\"\nAlias /x/ /p/\n# Alias /y /p\nroot /p/keys;\n", "/p"),
                ElementsAre("Alias /x/ /p/", "root /p/keys;"));
    const TempDir dir;
    dir.write("a.conf", "Alias /up /p/html/user\n");
    EXPECT_THAT(web_server_findings("/p", {dir.path()}), IsEmpty());
    EXPECT_THAT(ids_of(web_server_findings("/q", {dir.path()})), ElementsAre("web_server"));
    dir.write("b.conf", "Alias /all /p\n");
    EXPECT_THAT(ids_of(web_server_findings("/p", {dir.path()})), ElementsAre("web_opens_project"));
}

TEST(CatalogueFindings, VersionsThatNoHostGetsAreCounted) {
    CatalogueRows rows;
    rows.apps.resize(2);
    rows.apps[0].id = 1, rows.apps[0].name = "up", rows.apps[1].id = 2, rows.apps[1].name = "down";
    rows.platforms = {{1, "x86_64-pc-linux-gnu", "", false}, {2, "old", "", true}};
    const auto version = [&](Id app, Id platform, const char* plan_class) {
        AppVersion made;
        made.appid = app, made.platformid = platform, made.plan_class = plan_class;
        rows.versions.push_back(made);
    };
    version(1, 1, "mt"), version(2, 2, ""), version(2, 1, "nonsense"), version(2, 1, "nonsense"), version(9, 1, "");
    const auto found = catalogue_findings(rows, PlanClasses(), 0);
    ASSERT_THAT(ids_of(found), ElementsAre("app_without_version", "unknown_plan_class", "version_without_platform",
                                           "version_without_app"));
    EXPECT_THAT(found[0].text, HasSubstr(": down."));
    EXPECT_EQ(found[1].count, 2);
    const TempDir dir;
    dir.write("templates/out", "");
    EXPECT_THAT(missing_templates({"templates/out"}, dir.path()), IsEmpty());
    EXPECT_EQ(missing_templates({"templates/out", "templates/gone"}, dir.path()).at(0).count, 1);
}

TEST(DifferenceRows, EachStandsInTheTableOfDifferences) {
    const std::string page = read_file(source_dir() + "/docs/compat.md").value_or("");
    std::set<std::string> ids;
    for (const DifferenceRow& row : difference_rows()) {
        EXPECT_THAT(page, HasSubstr(std::string("\n| ") + row.row)) << row.id;
        EXPECT_TRUE(ids.insert(row.id).second) << row.id;
    }
    for (const std::string& id : move_survey_ids())
        EXPECT_TRUE(ids.contains(id)) << id << ": a question whose answer nobody reads";
}

TEST(DifferenceRows, OnlyThoseAreSaidThatTheCountsMeet) {
    EXPECT_THAT(difference_findings({}), IsEmpty());
    const auto found = difference_findings({{"pinned_workunits", 37}, {"apps_of_weight_zero", 2}});
    ASSERT_THAT(ids_of(found), ElementsAre("pinned_workunits"));
    EXPECT_THAT(found[0].text, HasSubstr("pinned to an app version: 37. "));
    EXPECT_EQ(found[0].count, 37);
    EXPECT_THAT(ids_of(difference_findings({{"all_apps", 1}, {"apps_of_weight_zero", 2}})),
                ElementsAre("apps_of_weight_zero"));
}

TEST(ConfiguredFacts, AreReadOfOptionsFilesAndTheFeeder) {
    const TempDir dir;
    dir.write("gui_urls.xml", std::string(5000, ' '));
    ProjectConfig config;
    config.daily_result_quota = 8;
    DaemonsAndTasks entries;
    entries.daemons.resize(2);
    entries.daemons[0].cmd = "feeder -d 3 --mod 2 0 -wmod 3 1 --allapps";
    entries.daemons[1].cmd = "own_validator --app a -check_punitive";
    const auto facts = configured_facts(dir.path(), config, entries);
    EXPECT_EQ(facts, (std::map<std::string, std::int64_t>{{"all_apps", 1},
                                                          {"feeder_several_choices", 1},
                                                          {"feeder_sleeps", 1},
                                                          {"long_gui_urls", 1},
                                                          {"validator_options", 1}}));
}

TEST(ProjectFindings, ArePrintedByGroupAndAsJson) {
    ProjectFindings found;
    found.file = "/p/config.xml";
    EXPECT_EQ(found.status(), 0);
    found.note("n", "not seen");
    EXPECT_EQ(found.status(), 0) << "a note asks for nothing";
    found.add({Importance::kWarning, FindingGroup::kUnsafe, "u", "open", "chmod 600 x", 2});
    found.error({FindingGroup::kWouldNotWork, "schema"}, "a.b is missing; add it: ALTER TABLE a ADD b int;");
    found.sort();
    EXPECT_EQ(found.status(), 1);
    EXPECT_EQ(findings_text(found),
              "What would not work:\n  error: a.b is missing; add it: ALTER TABLE a ADD b int;\n\n"
              "What is unsafe today:\n  warning: open; as root: chmod 600 x\n\n"
              "What was not looked at:\n  note: not seen\n\n"
              "/p/config.xml: 1 error, 1 warning, 0 differences\n");
    found.tables = 2;
    EXPECT_TRUE(findings_text(found).ends_with("0 differences; tables sluice_* of version 2\n"))
        << findings_text(found);
    const auto json = nlohmann::json::parse(findings_json(found));
    EXPECT_EQ(json["tables_version"], 2);
    ASSERT_EQ(json["findings"].size(), 3u);
    EXPECT_EQ(json["findings"][0]["command"], "ALTER TABLE a ADD b int;");
    EXPECT_EQ(json["findings"][1]["count"], 2);
    EXPECT_EQ(json["findings"][1]["group"], "unsafe");
}

}  // namespace
}  // namespace sluice::test
