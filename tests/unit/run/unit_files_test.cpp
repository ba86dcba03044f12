// SPDX-License-Identifier: LGPL-3.0-or-later
// The units that `sluice units` writes, as systemd's own tools judge them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "sched/units/units.h"
#include "sluice/base/files.h"
#include "sluice/base/project.h"
#include "sluice/base/text.h"
#include "tests/support/paths.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kEntries =
    "<daemons><daemon><cmd>feeder -d 3</cmd></daemon><daemon><cmd>scheduler</cmd></daemon>"
    "<daemon><cmd>transitioner --mod 2 0</cmd><output>transitioner_0.log</output></daemon>"
    "<daemon><cmd>script_validator --json_script \"check 50%\"</cmd></daemon>"
    "<daemon><cmd>sample_assimilator --outdir /usr/share</cmd></daemon>"
    "<daemon><cmd>a | b</cmd><use_shell>1</use_shell><output>odd $name%.log</output></daemon>"
    "<daemon><cmd>never</cmd><disabled>1</disabled></daemon><daemon><cmd>c | d</cmd></daemon></daemons>"
    "<tasks><task><cmd>db_dump -d 2</cmd><period>24 hours</period></task>"
    "<task><cmd>db_dump -d 3</cmd><period>1 min</period></task></tasks>";

std::vector<UnitFile> units(const std::string& project, bool journal = false) {
    ProjectConfig config;
    config.project_dir = project;
    config.bin_dir = project + "/bin";
    config.host = short_host_name();
    UnitsOf of;
    of.name = "tiles";
    of.account = "daemon";
    of.start = binary_dir() + "/bin/start";
    of.folders = host_folders(config, short_host_name());
    of.writable = {project + "/upload", "/srv/down loads"};
    of.private_key = project + "/keys/code_sign_private";
    of.environment = {"MYSQL_UNIX_PORT=/srv/a b"};
    of.journal = journal;
    const std::string text = "<boinc>" + std::string(kEntries) + "</boinc>";
    return unit_files(of, configured_programs(parse_daemons_and_tasks(text, "config.xml"), config, of.folders));
}

std::string text_of(const std::vector<UnitFile>& files, const std::string& name) {
    for (const UnitFile& file : files)
        if (file.name == name) return file.text;
    return "no unit " + name;
}

TEST(UnitFiles, AreATargetServicesAndTimers) {
    const auto files = units("/srv/tiles");
    std::string names;
    for (const UnitFile& file : files) names += file.name + "\n";
    EXPECT_EQ(names,
              "sluice@tiles.target\nsluice-tiles-feeder.service\nsluice-tiles-scheduler.service\n"
              "sluice-tiles-transitioner_0.log.service\nsluice-tiles-script_validator.service\n"
              "sluice-tiles-sample_assimilator.service\nsluice-tiles-odd\\x20\\x24name\\x25.log.service\n"
              "sluice-tiles-task-db_dump.service\nsluice-tiles-task-db_dump.timer\n"
              "sluice-tiles-task-db_dump-2.service\nsluice-tiles-task-db_dump-2.timer\n");
    EXPECT_THAT(files[0].text,
                AllOf(HasSubstr("\nWants=sluice-tiles-feeder.service\n"),
                      HasSubstr("\nWants=sluice-tiles-task-db_dump.timer\n"), Not(HasSubstr("task-db_dump.service"))));
    const std::string feeder = text_of(files, "sluice-tiles-feeder.service");
    EXPECT_THAT(feeder, AllOf(HasSubstr("\nType=notify\nWatchdogSec="), HasSubstr("\nUser=daemon\n"),
                              HasSubstr("/bin/start --daemon feeder\n"), HasSubstr("\nPartOf=sluice@tiles.target\n"),
                              HasSubstr("\nKillMode=mixed\n"),
                              HasSubstr("\nEnvironment=BOINC_PROJECT_DIR=/srv/tiles \"MYSQL_UNIX_PORT=/srv/a b\"\n")));
    EXPECT_THAT(
        text_of(files, "sluice-tiles-odd\\x20\\x24name\\x25.log.service"),
        AllOf(HasSubstr("/bin/start --daemon \"odd $$name%%.log\"\n"), HasSubstr("\nKillMode=control-group\n")));
    EXPECT_THAT(text_of(files, "sluice-tiles-task-db_dump-2.timer"), HasSubstr("\nOnUnitActiveSec=60\n"));
    EXPECT_THAT(text_of(files, "sluice-tiles-task-db_dump.timer"), HasSubstr("\nOnUnitActiveSec=900\n"));
    EXPECT_THAT(text_of(units("/srv/tiles", true), "sluice-tiles-feeder.service"), HasSubstr("feeder --journal\n"));
}

TEST(UnitFiles, LetProgramsWriteWhatTheyMust) {
    const auto files = units("/srv/tiles");
    const std::string assimilator = text_of(files, "sluice-tiles-sample_assimilator.service");
    for (const char* folder : {"-/srv/tiles", "-/srv/tiles/upload", "\"-/srv/down loads\"", "-/dev/shm", "-/usr/share"})
        EXPECT_THAT(assimilator, HasSubstr(folder));
    EXPECT_THAT(text_of(files, "sluice-tiles-feeder.service"),
                AllOf(Not(HasSubstr("-/usr/share")), HasSubstr("\nPrivateTmp=yes\n"),
                      HasSubstr("\nInaccessiblePaths=-/srv/tiles/keys/code_sign_private\n")));
    EXPECT_THAT(text_of(units("/tmp/tiles"), "sluice-tiles-feeder.service"), Not(HasSubstr("PrivateTmp")))
        << "the project would be gone";
    EXPECT_THAT(text_of(files, "sluice-tiles-script_validator.service"), Not(HasSubstr("RestrictNamespaces=yes")))
        << "its script's sandbox would be gone";
}

TEST(UnitFiles, SystemdUnderstandsAndFindsThemSafe) {
    const TempDir folder;
    std::vector<std::string> verify{"systemd-analyze", "verify", "--man=no"};
    const auto files = units("/srv/tiles");
    ASSERT_EQ(files.size(), 11u);
    for (const UnitFile& file : files) {
        folder.write(file.name, file.text);
        verify.push_back((folder / file.name).string());
        if (!file.name.ends_with(".service")) continue;
        // In tenths.
        const RunResult security =
            run({"systemd-analyze", "security", "--offline=true", "--threshold=30", verify.back()});
        EXPECT_EQ(security.status, 0) << file.name << "\n" << security.out << security.err;
    }
    const RunResult verified = run(verify);
    EXPECT_EQ(verified.status, 0);
    EXPECT_EQ(verified.out + verified.err, "");
}

class SluiceUnits : public testing::Test {
  protected:
    SluiceUnits() {
        fs::create_directories(units_.path());
        config(kEntries);
    }
    void config(const std::string& entries) {
        project_.write("config.xml",
                       "<boinc><config><db_name>x</db_name><project_user_name>daemon</project_user_name></config>" +
                           entries + "</boinc>");
    }
    RunResult sluice(std::vector<std::string> more) {
        more.insert(more.begin(), {binary_dir() + "/bin/sluice", "units", project_.path(), "--name", "tiles"});
        return run(more);
    }
    RunResult install() { return sluice({"--install", "--folder", units_.path()}); }
    std::vector<std::string> installed() const {
        std::vector<std::string> names;
        for (const auto& entry : fs::directory_iterator(units_.path())) names.push_back(entry.path().filename());
        return names;
    }
    TempDir project_, units_;
};

TEST_F(SluiceUnits, AreInstalledAndRemoved) {
    const RunResult printed = sluice({});
    EXPECT_EQ(printed.status, 0) << printed.err;
    EXPECT_THAT(printed.out, HasSubstr("# /etc/systemd/system/sluice-tiles-feeder.service\n# Written by"));
    EXPECT_THAT(printed.err, HasSubstr("No unit for 'c | d': it holds a pipe"));
    EXPECT_FALSE(fs::exists(project_ / ("systemd_" + short_host_name()))) << "printing changes nothing";
    units_.write("sluice-other.service", "[Service]\n");
    const RunResult result = install();
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("systemctl enable --now sluice@tiles.target"));
    EXPECT_EQ(installed().size(), 12u);
    EXPECT_TRUE(fs::exists(project_ / ("systemd_" + short_host_name())));
    EXPECT_THAT(install().out, Not(HasSubstr("wrote"))) << "nothing has changed";
    config("<daemons><daemon><cmd>feeder</cmd></daemon></daemons>");
    EXPECT_THAT(install().out, AllOf(HasSubstr("removed "), HasSubstr("sluice-tiles-scheduler.service\n")));
    EXPECT_EQ(installed().size(), 3u);
    const RunResult other = sluice({"--install", "--folder", units_.path(), "--journal"});
    EXPECT_EQ(other.status, 2);
    EXPECT_THAT(other.err, HasSubstr("installed with the options '--name tiles': give them again"));
    EXPECT_EQ(sluice({"--remove", "--folder", units_.path()}).status, 0);
    EXPECT_EQ(installed(), std::vector<std::string>{"sluice-other.service"});
    EXPECT_FALSE(fs::exists(project_ / ("systemd_" + short_host_name())));
}

TEST_F(SluiceUnits, FilesOfOthersStay) {
    units_.write("sluice-tiles-feeder.service", "# by hand\n");
    const RunResult result = install();
    EXPECT_EQ(result.status, 2);
    EXPECT_THAT(result.err, HasSubstr("is there, and is not this project's: give another --name"));
    EXPECT_EQ(installed().size(), 1u);
    EXPECT_EQ(sluice({"--install", "--remove"}).status, 2);
    EXPECT_EQ(sluice({"--environment", "A"}).status, 2);
    EXPECT_EQ(run({binary_dir() + "/bin/sluice", "units"}).status, 2);
}

}  // namespace
}  // namespace sluice::test
