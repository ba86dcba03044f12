// SPDX-License-Identifier: LGPL-3.0-or-later
// config_aux.xml, and config.xml as a file of a project: which folders it names, and how problems are told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "sluice/base/files.h"
#include "sluice/base/project.h"
#include "tests/unit/config/parsed_config.h"

namespace sluice {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Aux, LimitsOfProjectAndApps) {
    const ProjectConfig config = parse(
                                     "<max_wus_in_progress>2</max_wus_in_progress>"
                                     "<max_wus_in_progress_gpu>3</max_wus_in_progress_gpu>",
                                     R"(<?xml version="1.0" ?>
<config><max_jobs_in_progress>
  <project><total_limit><jobs>100</jobs></total_limit><gpu_limit><jobs>4</jobs><per_proc/></gpu_limit></project>
  <app><app_name>uc</app_name><cpu_limit><jobs>8</jobs><per_proc>0</per_proc></cpu_limit></app>
  <app><app_name>b</app_name></app>
</max_jobs_in_progress></config>)")
                                     .config;
    const MaxJobsInProgress expected{{{100, false}, {2, true}, {4, true}}, {{"uc", {{}, {8, false}, {}}}, {"b", {}}}};
    EXPECT_EQ(config.max_jobs_in_progress, expected);
}

TEST(Aux, UnknownElementsAreWarnedOfAndSkipped) {
    const LoadedConfig loaded = parse("", R"(<config><other/><max_jobs_in_progress><team/><project><cpu_limit>
  <jobs>3</jobs><per_host/></cpu_limit><ram_limit/><ram_limit/></project></max_jobs_in_progress></config>)");
    EXPECT_EQ(loaded.config.max_jobs_in_progress.project.cpu.jobs, 3);
    EXPECT_THAT(loaded.warnings,
                testing::UnorderedElementsAre(HasSubstr("<other>"), HasSubstr("<per_host> in <cpu_limit>"),
                                              HasSubstr("<ram_limit> in <project>"),
                                              HasSubstr("<team> in <max_jobs_in_progress>")));
    EXPECT_THAT(loaded.warnings, testing::Each(HasSubstr("config_aux.xml")));
}

TEST(Aux, FilesThatCannotBeReadAreRefused) {
    EXPECT_THAT(refusal_of("", "<config><max_jobs_in_progress>"), HasSubstr("config_aux.xml"));
    EXPECT_THAT(refusal_of("", "nothing"), HasSubstr("config_aux.xml"));
    EXPECT_THAT(parse("<max_jobs_in_progress><project/></max_jobs_in_progress>").warnings,
                ElementsAre(HasSubstr("config_aux.xml")));
}

TEST(Aux, AWrongLimitCostsThatLimit) {
    const LoadedConfig loaded = parse("", R"(<config><max_jobs_in_progress>
  <project><total_limit><jobs>100</jobs></total_limit><cpu_limit><jobs>x</jobs></cpu_limit></project>
  <app><cpu_limit><jobs>1</jobs></cpu_limit></app>
  <app><app_name>uc</app_name><cpu_limit><jobs>8</jobs><per_proc>both</per_proc></cpu_limit>
    <gpu_limit><jobs>2</jobs></gpu_limit></app></max_jobs_in_progress></config>)");
    const MaxJobsInProgress expected{{{100, false}, {}, {}}, {{"uc", {{}, {}, {2, false}}}}};
    EXPECT_EQ(loaded.config.max_jobs_in_progress, expected);
    EXPECT_THAT(loaded.errors,
                ElementsAre(AllOf(HasSubstr("<jobs>x</jobs>"), HasSubstr("whole number")), HasSubstr("<app_name>"),
                            AllOf(HasSubstr("<per_proc>both</per_proc>"), HasSubstr("0 or 1"))));
    EXPECT_THAT(loaded.errors, testing::Each(HasSubstr("config_aux.xml")));
}

/// A folder with a config.xml, removed at the end.
class ProjectFolder : public testing::Test {
  protected:
    ProjectFolder() {
        char name[] = "/tmp/sluice_config_XXXXXX";
        root_ = mkdtemp(name);
    }
    ~ProjectFolder() override { fs::remove_all(root_); }
    void write(const std::string& name, const std::string& text) { std::ofstream(root_ / name) << text; }
    fs::path root_;
};

TEST_F(ProjectFolder, FoldersAreNeverEmpty) {
    write("config.xml", "<boinc><config><upload_dir>/data/up</upload_dir><key_dir>secret</key_dir></config></boinc>");
    const ProjectConfig config = load_config(root_).config;
    EXPECT_EQ(config.project_dir, root_.string());
    EXPECT_EQ(config.upload_dir, "/data/up");
    EXPECT_EQ(config.key_dir, (root_ / "secret").string());
    EXPECT_EQ(config.download_dir, (root_ / "download").string());
    EXPECT_EQ(config.bin_dir, (root_ / "bin").string());
    EXPECT_EQ(config.decision_log_dir, (root_ / ("log_" + short_host_name()) / "decisions").string());
    EXPECT_EQ(config.host, short_host_name());
}

TEST_F(ProjectFolder, ProjectDirThatIsGoneGivesWarning) {
    write("config.xml", "<boinc><config><project_dir>/nowhere/p</project_dir></config></boinc>");
    const LoadedConfig loaded = load_config(root_);
    EXPECT_EQ(loaded.config.project_dir, root_.string());
    EXPECT_THAT(loaded.warnings, ElementsAre(HasSubstr("/nowhere/p")));
}

TEST_F(ProjectFolder, ProblemsNameTheFile) {
    EXPECT_THROW(load_config(root_), ConfigError);
    write("config.xml", "<boinc><config><uldl_dir_fanout>x</uldl_dir_fanout></config></boinc>");
    try {
        load_config(root_);
        FAIL();
    } catch (const ConfigError& error) {
        EXPECT_THAT(error.what(), HasSubstr((root_ / "config.xml").string()));
    }
    write("config.xml", "<boinc><config></config></boinc>");
    write("config_aux.xml", " ");
    try {
        load_config(root_);
        FAIL();
    } catch (const ConfigError& error) {
        EXPECT_THAT(error.what(), HasSubstr((root_ / "config_aux.xml").string()));
    }
}

}  // namespace
}  // namespace sluice
