// SPDX-License-Identifier: LGPL-3.0-or-later
// The files of a new project.
#include "config/project/new_project.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "config/load.h"
#include "config/project/project_xml.h"
#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/base/text.h"
#include "sluice/match/policies.h"
#include "sluice/xml/strict.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

NewProject a_project() {
    NewProject project;
    project.root = "/srv/boinc/tiles";
    project.short_name = "tiles";
    project.long_name = "Tiles & \"more\"";
    project.url_base = "http://tiles.example.org";
    project.host = "node7";
    project.db_name = "tiles";
    project.db_user = "boinc";
    project.db_passwd = "a<b&c";
    project.shmem_key = 0x1111ab12;
    project.web_user_in_group = true;
    return project;
}
std::string text_of(const NewProject& project, const std::string& name) {
    for (const NewFile& file : files_of(project)) {
        if (file.name == name) return file.text;
    }
    ADD_FAILURE() << name;
    return "";
}

TEST(NewProjectFiles, DatabasesAuthorityIsNamedIfThereIsOne) {
    NewProject project = a_project();
    EXPECT_EQ(text_of(project, "config.xml").find("db_ssl_ca"), std::string::npos);
    project.db_ssl_ca = "/etc/a&b.pem";
    EXPECT_EQ(parse_config(text_of(project, "config.xml"), "config.xml").config.db_ssl_ca, "/etc/a&b.pem");
}

TEST(NewProjectFiles, ConfigIsReadAsMeant) {
    NewProject project = a_project();
    project.daemons = {"bin/validator --app a & b"};
    project.tasks = {"24 hours: size_census", " 1 h : batch_stats -d 3 "};
    const std::string text = text_of(project, "config.xml");
    const LoadedConfig loaded = parse_config(text, "config.xml");
    EXPECT_THAT(loaded.warnings, IsEmpty());
    const ProjectConfig& config = loaded.config;
    EXPECT_EQ(config.compat_level, 1);
    EXPECT_EQ(config.long_name, project.long_name);
    EXPECT_EQ(config.db_passwd, "a<b&c");
    EXPECT_EQ(config.shmem_key, 0x1111ab12);
    EXPECT_EQ(config.master_url, "http://tiles.example.org/tiles/");
    EXPECT_EQ(config.upload_url, "http://tiles.example.org/tiles_cgi/file_upload_handler");
    EXPECT_EQ(config.download_url, "http://tiles.example.org/tiles/download");
    EXPECT_EQ(config.key_dir, "/srv/boinc/tiles/keys");
    EXPECT_EQ(config.uldl_dir_fanout, 1024);
    EXPECT_EQ(config.daily_result_quota, 500);
    EXPECT_FALSE(config.ignore_upload_certificates || config.dont_generate_upload_certificates);
    const DaemonsAndTasks entries = parse_daemons_and_tasks(text, "config.xml");
    EXPECT_THAT(entries.warnings, IsEmpty());
    ASSERT_EQ(entries.daemons.size(), 8U);
    EXPECT_EQ(entries.daemons[0].cmd, "feeder -d 3");
    EXPECT_EQ(entries.daemons[2].cmd, "scheduler");
    EXPECT_EQ(entries.daemons[3].cmd, "file_deleter -d 3");
    EXPECT_EQ(entries.daemons[5].cmd, "bin/validator --app a & b");
    EXPECT_EQ(entries.daemons[5].output, "validator_1.log");
    EXPECT_TRUE(entries.daemons[6].cmd == "../cgi-bin/file_upload_handler --resident" && entries.daemons[6].disabled);
    EXPECT_TRUE(entries.daemons[7].cmd.starts_with("db_purge -min_age_days 7") && entries.daemons[7].disabled);
    std::vector<std::string> tasks;
    for (const TaskEntry& task : entries.tasks) tasks.push_back(task.cmd);
    EXPECT_THAT(tasks,
                testing::ElementsAre("antique_file_deleter -d 3", "update_stats", "rotate_logs", "size_census",
                                     "size_census", "batch_stats -d 3", "db_dump -d 3 -dump_spec ../db_dump_spec.xml"));
    EXPECT_TRUE(entries.tasks[6].disabled && entries.tasks[6].period == 86400);
    EXPECT_EQ(entries.tasks[1].period, 86400);
    EXPECT_EQ(entries.tasks[2].period, 3600);
    EXPECT_EQ(entries.tasks[5].period, 3600);
}

std::vector<std::string> daemons_of(const NewProject& project) {
    std::vector<std::string> commands;
    for (const DaemonEntry& d : parse_daemons_and_tasks(text_of(project, "config.xml"), "config.xml").daemons)
        if (!d.disabled) commands.push_back(d.cmd);
    return commands;
}

// The rules were on, and no program carried them out.
TEST(NewProjectFiles, RulesOfBatchesRunTheirDaemons) {
    NewProject project = a_project();
    EXPECT_THAT(daemons_of(project),
                testing::ElementsAre("feeder -d 3", "transitioner -d 3", "scheduler", "file_deleter -d 3", "batches"));
    project.daemons = {"bin/batches --margin 2"};
    EXPECT_THAT(daemons_of(project), testing::ElementsAre("feeder -d 3", "transitioner -d 3", "scheduler",
                                                          "file_deleter -d 3", "bin/batches --margin 2"))
        << "two of them would be too many";
    project.daemons.clear();
    project.compat_level = 0;
    EXPECT_THAT(daemons_of(project),
                testing::ElementsAre("feeder -d 3", "transitioner -d 3", "scheduler", "file_deleter -d 3"));
}

// config.xml's comment held "--": no PHP page and no Python tool of BOINC could read it.
TEST(NewProjectFiles, WhateverIsSaidTheXmlIsWellFormed) {
    std::vector<NewProject> projects(2, a_project());
    projects[0].compat_level = 0;
    NewProject odd = a_project();
    odd.short_name = "A__1";
    odd.long_name = "-- Größe -- & \"'";
    odd.root = "/srv/a--b/Größe&(1)~";
    odd.url_base = "http://xn--kacheln-9za.example.org:81/--";
    odd.host = "xn--kacheln-9za";
    odd.db_name = "a--b";
    odd.db_user = "-->";
    odd.db_passwd = "--><!-- ]]> &amp; <&'\"";
    odd.db_host = "db--1:3306";
    odd.db_ssl_ca = "/etc/--/<&.pem";
    odd.db_socket = "/run/a--b.sock";
    odd.daemons = {"a --b '<&>' -->"};
    odd.tasks = {"1 day: a --b '<&>' -->"};
    projects.push_back(odd);
    for (const NewProject& project : projects) {
        EXPECT_NO_THROW(check_new_project(project));
        int files = 0;
        for (const NewFile& file : files_of(project)) {
            if (file.name.extension() != ".xml" && !file.text.starts_with("<?xml")) continue;
            const auto fault = strict_xml_fault(file.text);
            EXPECT_FALSE(fault) << file.name << ":" << fault->line << ": " << fault->what;
            ++files;
        }
        EXPECT_EQ(files, 7);
    }
    const ProjectConfig config = parse_config(text_of(odd, "config.xml"), "config.xml").config;
    EXPECT_EQ(config.db_passwd, odd.db_passwd);
    EXPECT_EQ(config.long_name, odd.long_name);
}

TEST(NewProjectFiles, DefaultsAreOursAndShown) {
    const std::string text = text_of(a_project(), "config.xml");
    const ProjectConfig config = parse_config(text, "config.xml").config;
    const ProjectConfig ours = default_config(1);
    EXPECT_EQ(config.compat_level, 1);
    EXPECT_EQ(config.shmem_work_items, ours.shmem_work_items);
    EXPECT_EQ(config.mm_min_slots, ours.mm_min_slots);
    EXPECT_EQ(config.mm_max_slots, ours.mm_max_slots);
    EXPECT_EQ(config.mm_max_locked, ours.mm_max_locked);
    std::map<std::string, double> weights;
    for (const PolicyInfo& p : policy_infos())
        if (p.kind == PolicyKind::kScore) weights[std::string(p.name)] = p.weight_level1;
    EXPECT_THAT(config.score_weights, testing::ContainerEq(std::map<std::string, double>(weights)));
    // Each has its comment: on its line, or as the line before.
    std::vector<std::string> lines;
    for (const std::string_view line : split(text, '\n')) lines.emplace_back(line);
    const auto has_comment = [&](const std::string& name) {
        for (std::size_t i = 1; i < lines.size(); ++i)
            if (lines[i].find("<" + name + ">") != std::string::npos &&
                lines[i].find("<!--") > lines[i].find("<" + name))
                return lines[i].ends_with("-->") || lines[i - 1].ends_with("-->");
        return false;
    };
    for (const char* name : {"shmem_work_items", "mm_min_slots", "mm_max_slots", "mm_max_locked", "score_weights"})
        EXPECT_TRUE(has_comment(name)) << name;
    for (const auto& [name, weight] : weights) EXPECT_TRUE(has_comment(name)) << name;
}

TEST(NewProjectFiles, Level0NothingIsSaidThatUpstreamDoesntKnow) {
    NewProject project = a_project();
    project.compat_level = 0;
    const std::string text = text_of(project, "config.xml");
    const ProjectConfig config = parse_config(text, "config.xml").config;
    EXPECT_EQ(config.compat_level, 0);
    EXPECT_EQ(config.mm_min_slots, 0);
    EXPECT_TRUE(config.score_weights.empty());
    EXPECT_EQ(config.shmem_work_items, default_config(0).shmem_work_items);
    const auto tasks = parse_daemons_and_tasks(text, "config.xml").tasks;
    ASSERT_EQ(tasks.size(), 4U);  // of upstream's new projects, and rotate_logs
    EXPECT_EQ(tasks[0].cmd, "antique_file_deleter -d 3");
    EXPECT_EQ(tasks[1].cmd, "update_stats");
    EXPECT_EQ(tasks[2].cmd, "rotate_logs");
    EXPECT_TRUE(tasks[3].cmd.starts_with("db_dump ") && tasks[3].disabled);
}

TEST(NewProjectFiles, CertificatesMayBeOff) {
    NewProject project = a_project();
    project.upload_certificates = false;
    const ProjectConfig config = parse_config(text_of(project, "config.xml"), "config.xml").config;
    EXPECT_TRUE(config.ignore_upload_certificates && config.dont_generate_upload_certificates);
}

TEST(NewProjectFiles, ClientsFindTheScheduler) {
    for (const char* name : {"html/user/index.html", "html/user/schedulers.txt"}) {
        const std::string page = text_of(a_project(), name);
        EXPECT_THAT(page, HasSubstr("<scheduler>http://tiles.example.org/tiles_cgi/cgi</scheduler>"));
        EXPECT_THAT(page, HasSubstr("<link rel=\"boinc_scheduler\" href=\"http://tiles.example.org/tiles_cgi/cgi\""));
    }
    EXPECT_THAT(text_of(a_project(), "html/user/get_project_config.php"),
                AllOf(HasSubstr("<name>Tiles &amp; \"more\"</name>"), HasSubstr("x86_64-pc-linux-gnu")));
}

// upgrade_db.php of the original web pages took revision 0 for granted and offered 49 updates.
TEST(NewProjectFiles, UpstreamsPagesAreToldWhichSchemaThereIs) {
    EXPECT_EQ(text_of(a_project(), "db_revision"), "27032\n");
}

// It named the folder in which the project was made, and failed in one that was moved.
TEST(NewProjectFiles, AssimilatorsScriptKeepsResultAndCanBeRepeated) {
    const test::TempDir dir;
    const fs::path root = dir / "a;b moved";
    for (const char* folder : {"bin", "results"}) fs::create_directories(root / folder);
    const auto files = files_of(a_project());
    const auto file = std::ranges::find(files, "bin/keep_result", &NewFile::name);
    ASSERT_NE(file, files.end());
    EXPECT_EQ(file->mode, 0755);
    const std::string script = dir.write("a;b moved/bin/keep_result", file->text).string(),
                      kept = root / "results/tile";
    const auto keep = [&](const std::vector<std::string>& arguments) {
        std::vector<std::string> words{"/bin/sh", script};
        words.insert(words.end(), arguments.begin(), arguments.end());
        return test::run(words).status;
    };
    for (const char* text : {"first", "second"}) {
        const fs::path output = dir.write(text, text);
        fs::permissions(output, fs::perms(0444));  // as complete uploads are
        EXPECT_EQ(keep({"tile", output.string()}), 0);
        EXPECT_EQ(read_file(kept), text);
    }
    EXPECT_NE(keep({"tile", (dir / "none").string()}), 0) << "the assimilator calls it again";
    EXPECT_EQ(read_file(kept), "second");
    EXPECT_EQ(keep({"--error", "16", "tile", "1", "0"}), 0);
}

TEST(NewProjectFiles, ProjectXmlIsWhatXaddReads) {
    EXPECT_GT(parse_project_xml(text_of(a_project(), "project.xml"), "project.xml").platforms.size(), 8U);
}

TEST(NewProjectFiles, AnotherSocketIsKnownEverywhere) {
    NewProject project = a_project();
    EXPECT_THAT(text_of(project, "tiles.httpd.conf"), Not(HasSubstr("MYSQL_UNIX_PORT")));
    project.db_socket = "/run/own.sock";
    for (const char* name : {"tiles.httpd.conf", "tiles.httpd.fcgi.conf", "tiles.httpd.proxy.conf", "tiles.nginx.conf",
                             "tiles.nginx.proxy.conf", "tiles.cronjob", "tiles.readme", "tiles.scheduler.service"}) {
        EXPECT_THAT(text_of(project, name), AllOf(HasSubstr("MYSQL_UNIX_PORT"), HasSubstr("/run/own.sock"))) << name;
    }
    EXPECT_THAT(text_of(project, "tiles.cronjob"),
                HasSubstr("MYSQL_UNIX_PORT=/run/own.sock /srv/boinc/tiles/bin/start"))
        << "in its line, which may be added to another crontab";
}

TEST(NewProjectFiles, LogsAreRotatedAsTheirOwner) {
    NewProject project = a_project();
    project.owner = "boinc staff";
    const std::string text = text_of(project, "tiles.logrotate");
    EXPECT_THAT(text, AllOf(HasSubstr("\"/srv/boinc/tiles/log_node7/*.log\""), HasSubstr("su boinc staff\n"),
                            HasSubstr("    create\n"), Not(HasSubstr("postrotate"))));
}

TEST(NewProjectFiles, TheUnitsAccountCannotReadTheKey) {
    NewProject project = a_project();
    project.web_group = "http";
    const std::string text = text_of(project, "tiles.scheduler.service");
    for (const char* line :
         {"User=boincsched", "Group=http", "WorkingDirectory=/srv/boinc/tiles/cgi-bin", "RuntimeDirectoryMode=0750",
          "ExecStart=/srv/boinc/tiles/cgi-bin/cgi --listen /run/tiles/cgi.sock --processes 2-8",
          "ReadWritePaths=/srv/boinc/tiles/log_node7 /dev/shm",
          "InaccessiblePaths=-/srv/boinc/tiles/keys/code_sign_private", "ProtectSystem=strict", "Type=notify",
          "WatchdogSec=2min"})
        EXPECT_THAT(text, HasSubstr(std::string("\n") + line + "\n"));
    EXPECT_THAT(text, Not(HasSubstr("@")));
}

TEST(NewProjectFiles, FolderNamesMayHaveAllLetters) {
    NewProject project = a_project();
    project.root = "/srv/Größe&(1)/tiles";
    EXPECT_NO_THROW(check_new_project(project));
    EXPECT_EQ(parse_config(text_of(project, "config.xml"), "config.xml").config.upload_dir,
              "/srv/Größe&(1)/tiles/upload");
    EXPECT_THAT(text_of(project, "tiles.cronjob"),
                HasSubstr("cd '/srv/Größe&(1)/tiles' && '/srv/Größe&(1)/tiles'/bin/start --cron"));
    EXPECT_THAT(text_of(project, "tiles.httpd.conf"),
                HasSubstr("ScriptAlias /tiles_cgi \"/srv/Größe&(1)/tiles/cgi-bin\""));
    EXPECT_THAT(text_of(a_project(), "tiles.cronjob"), HasSubstr("cd /srv/boinc/tiles && /srv/boinc/tiles/bin/start"));
}

TEST(NewProjectFiles, WhatTheWebServerNeedsIsSaid) {
    NewProject project = a_project();
    EXPECT_THAT(text_of(project, "tiles.readme"), Not(HasSubstr("usermod")));
    project.web_user_in_group = false;
    project.web_user = "www-data";
    EXPECT_THAT(text_of(project, "tiles.readme"), AllOf(HasSubstr("usermod"), HasSubstr("www-data")));
}

TEST(NewProjectFiles, TheReadmeNamesTheAccountOfEachCommand) {
    NewProject project = a_project();
    project.user = "boincadm";
    const std::string text = text_of(project, "tiles.readme");
    EXPECT_THAT(text, HasSubstr("sudo crontab -u boincadm /srv/boinc/tiles/tiles.cronjob"));
    for (const char* tool :
         {"xadd", "update_versions", "start", "status", "stage_file", "create_work", "create_account"})
        EXPECT_THAT(text, HasSubstr(std::string("sudo -u boincadm bin/") + tool));
    project.user = "";
    EXPECT_THAT(text_of(project, "tiles.readme"),
                AllOf(Not(HasSubstr("sudo -u")), HasSubstr("Cron:  crontab /srv/boinc/tiles/tiles.cronjob")));
}

TEST(NewProjectFiles, SecretsAreNotForEverybody) {
    for (const NewFile& file : files_of(a_project())) {
        const bool password =
            file.text.find("a&lt;b&amp;c") != std::string::npos || file.text.find("a<b&c") != std::string::npos;
        const bool log = file.name.extension() == ".log";  // volunteers' addresses
        EXPECT_EQ(password || log, (file.mode & 0007) == 0) << file.name;
        EXPECT_EQ((file.mode & 0022) != 0, log) << file.name;
    }
}

TEST(NewProjectFolders, NobodyElseWritesButInTwo) {
    for (const NewFolder& folder : folders_of(a_project())) {
        const bool of_web_server = folder.name == "upload" || folder.name == "html/cache";
        EXPECT_EQ((folder.mode & 0022) != 0, of_web_server) << folder.name;
        const bool run = folder.name.string().starts_with("log_") || folder.name.string().starts_with("pid_");
        EXPECT_EQ((folder.mode & 0007) == 0 && (folder.mode & 02000) != 0, of_web_server || run) << folder.name;
    }
}

struct BadProject {
    const char* what;
    void (*spoil)(NewProject&);
};
class CheckNewProject : public testing::TestWithParam<BadProject> {};
TEST_P(CheckNewProject, RefusesWhatWouldNotWork) {
    NewProject project = a_project();
    EXPECT_NO_THROW(check_new_project(project));
    GetParam().spoil(project);
    EXPECT_THROW(check_new_project(project), ConfigError) << GetParam().what;
}
INSTANTIATE_TEST_SUITE_P(
    Kinds, CheckNewProject,
    testing::Values(BadProject{"blank", [](NewProject& p) { p.short_name = "my project"; }},
                    BadProject{"slash", [](NewProject& p) { p.short_name = "a/b"; }},
                    BadProject{"empty", [](NewProject& p) { p.short_name = ""; }},
                    BadProject{"quote in root", [](NewProject& p) { p.root = "/srv/\"x"; }},
                    BadProject{"blank in root", [](NewProject& p) { p.root = "/srv/my projects/x"; }},
                    BadProject{"variable in root", [](NewProject& p) { p.root = "/srv/${HOME}"; }},
                    BadProject{"pattern in root", [](NewProject& p) { p.root = "/srv/*"; }},
                    BadProject{"fragment in root", [](NewProject& p) { p.root = "/srv/a#b"; }},
                    BadProject{"percent in root", [](NewProject& p) { p.root = "/srv/100%"; }},
                    BadProject{"newline in root", [](NewProject& p) { p.root = "/srv/a\nb"; }},
                    BadProject{"relative root", [](NewProject& p) { p.root = "srv/x"; }},
                    BadProject{"no scheme", [](NewProject& p) { p.url_base = "tiles.example.org"; }},
                    BadProject{"scheme only", [](NewProject& p) { p.url_base = "http://"; }},
                    BadProject{"quote in URL", [](NewProject& p) { p.url_base = "http://a\"b"; }},
                    BadProject{"database", [](NewProject& p) { p.db_name = "a`b"; }},
                    BadProject{"socket", [](NewProject& p) { p.db_socket = "/a b"; }},
                    BadProject{"tag", [](NewProject& p) { p.long_name = "<b>"; }},
                    BadProject{"control character", [](NewProject& p) { p.db_passwd = "a\x01"; }},
                    BadProject{"another encoding", [](NewProject& p) { p.db_passwd = "Gr\xf6\xdf"; }},
                    BadProject{"return", [](NewProject& p) { p.db_user = "a\r"; }},
                    BadProject{"escape in a daemon", [](NewProject& p) { p.daemons = {"a \x1b"}; }},
                    BadProject{"bell in a task", [](NewProject& p) { p.tasks = {"1 day: a \x07"}; }}));

TEST(Templates, EveryNameNeedsAValue) {
    EXPECT_EQ(fill_template("a @X@ b@c.org @X", {{"X", "<1>"}}, Escape::kXml), "a &lt;1&gt; b@c.org @X");
    EXPECT_EQ(fill_template("@RAW_X@", {{"RAW_X", "<1>"}}, Escape::kXml), "<1>");
    EXPECT_THROW(fill_template("@Y@", {}, Escape::kNone), Error);
    EXPECT_EQ(template_text("no such template"), "");
}

}  // namespace
}  // namespace sluice
