// SPDX-License-Identifier: LGPL-3.0-or-later
// What the volunteer is told when a job does not go out, with upstream's names and numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/support/rpc_world.h"

namespace sluice::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::SizeIs;

constexpr double kMiB = 1024 * 1024;

App& second_app(RpcWorld& w) {
    App other = w.db.apps[1];
    other.id = 2;
    other.name = "other";
    other.user_friendly_name = "Other app";
    AppVersion version = w.db.versions[1];
    version.id = 2;
    version.appid = 2;
    w.db.versions[2] = version;
    return w.db.apps[2] = other;
}

void prefer(RpcWorld& w, const std::string& elements) {
    w.db.users[1].project_prefs =
        "<project_preferences><project_specific>" + elements + "</project_specific></project_preferences>";
}

void plan_class(RpcWorld& w, const std::string& name, const std::string& tags) {
    w.db.versions[1].plan_class = name;
    w.files().write("plan_class_spec.xml",
                    "<plan_classes><plan_class><name>" + name + "</name>" + tags + "</plan_class></plan_classes>");
    w.reload_files();
    w.reload_tables();
}

TEST(Told, MemoryAndDiskOncePerAppAndAmount) {
    RpcWorld w;
    second_app(w);
    w.reload_tables();
    const Id host = w.add_host();
    for (int i = 0; i < 2; ++i) w.add_job([](Workunit& wu) { wu.rsc_memory_bound = 20000 * kMiB; });
    w.add_job([](Workunit& wu) { wu.rsc_memory_bound = 30000 * kMiB, wu.rsc_disk_bound = 1e15; });
    w.add_job([](Workunit& wu) { wu.appid = 2, wu.rsc_disk_bound = 500000 * kMiB; });
    const auto said = w.send(asking(host, 1000)).messages();
    EXPECT_THAT(said,
                IsSupersetOf({
                    "Upcase needs 20000.00 MB RAM but only 7629.39 MB is available for use.",
                    "Upcase needs 30000.00 MB RAM but only 7629.39 MB is available for use.",
                    "Other app needs 24186.84MB more disk space.  You currently have 475813.16 MB available and it "
                    "needs 500000.00 MB.",
                }));
    EXPECT_EQ(std::count_if(said.begin(), said.end(), [](const auto& m) { return m.find(" needs ") != m.npos; }), 3);
}

TEST(Told, GigabyteOfPreferencesIsTwoToThirty) {
    RpcWorld w;
    const Id host = w.add_host();
    w.add_job([](Workunit& wu) { wu.rsc_disk_bound = 1e11; });
    RequestText r = asking(host, 1000);
    r.more =
        "<host_info><p_ncpus>1</p_ncpus><m_nbytes>8e9</m_nbytes><d_total>1e12</d_total><d_free>5e11</d_free>"
        "<d_boinc_used_total>1e6</d_boinc_used_total></host_info>"
        "<working_global_preferences><global_preferences><disk_max_used_gb>100</disk_max_used_gb>"
        "<disk_max_used_pct>0</disk_max_used_pct></global_preferences></working_global_preferences>";
    EXPECT_THAT(w.send(r).result_names(), SizeIs(1));
}

TEST(Told, WhatAPlanClassAsksOfTheVolunteer) {
    const std::vector<std::array<std::string, 3>> cases = {
        {"<virtualbox/>", "", "VirtualBox is not installed"},
        {"<virtualbox/>", "<virtualbox_version>5.2.0_unusable</virtualbox_version>", "VirtualBox is not usable"},
        {"<docker/>", "", "Docker not present"},
        {"<wsl/>", "", "No WSL distros found"},
        {"<min_core_client_version>90000</min_core_client_version>", "",
         "A newer BOINC may be required for some tasks."}};
    for (const auto& [tags, host_elements, words] : cases) {
        RpcWorld w;
        plan_class(w, "c", tags);
        w.add_job();
        RequestText r = asking(w.add_host(), 1000);
        r.more = "<host_info><p_ncpus>1</p_ncpus><m_nbytes>8e9</m_nbytes><d_free>5e11</d_free>" + host_elements +
                 "</host_info>";
        const ReplyText reply = w.send(r);
        EXPECT_THAT(reply.result_names(), IsEmpty()) << tags;
        EXPECT_THAT(reply.messages(), Contains(words)) << tags;
    }
}

TEST(Told, ANewerClientsVersionDelaysNobody) {
    RpcWorld w;
    w.db.versions[1].min_core_version = 90000;
    w.reload_tables();
    w.add_job();
    const ReplyText reply = w.send(asking(w.add_host(), 1000));
    EXPECT_THAT(reply.result_names(), IsEmpty());
    EXPECT_THAT(reply.messages(), Not(Contains(HasSubstr("ewer BOINC"))));
    EXPECT_NE(reply.value("request_delay"), "86400.000000");
}

std::string nvidia(int driver, double ram, double seconds) {
    return fmt::format(
        "<coprocs><coproc_cuda><type>NVIDIA</type><count>1</count><name>GTX</name><req_secs>{}</req_secs>"
        "<req_instances>0</req_instances><estimated_delay>0</estimated_delay><peak_flops>1e12</peak_flops>"
        "<drvVersion>{}</drvVersion><cudaVersion>12000</cudaVersion><totalGlobalMem>{}</totalGlobalMem>"
        "<major>8</major><minor>6</minor></coproc_cuda></coprocs>",
        seconds, driver, ram);
}

TEST(Told, GpuMemoryAndDriver) {
    struct Card {
        int driver;
        double ram;
        std::string words;
    };
    const Card cases[] = {
        {52000, 100 * kMiB,
         "A minimum of 512 MB (preferably 512 MB) of video RAM is needed to process tasks using your computer's NVIDIA GPU"},
        {40000, 4096 * kMiB,
         "NVIDIA GPU: _(\"Upgrade to the latest driver to process tasks using your computer's GPU\")"}};
    for (const Card& c : cases) {
        RpcWorld w;
        plan_class(w, "cuda_x",
                   "<gpu_type>nvidia</gpu_type><min_gpu_ram_mb>512</min_gpu_ram_mb><cuda/>"
                   "<min_driver_version>50000</min_driver_version>");
        w.add_job();
        RequestText r = asking(w.add_host(), 1000);
        r.more = nvidia(c.driver, c.ram, 100);
        EXPECT_THAT(w.send(r).messages(), Contains(HasSubstr(c.words)));
    }
}

TEST(Told, ResourcesByTheNamesThatVolunteersKnow) {
    RpcWorld w;
    plan_class(w, "cuda_x", "<gpu_type>nvidia</gpu_type>");
    prefer(w, "<no_cuda>1</no_cuda>");
    w.add_job();
    RequestText r = asking(w.add_host(), 1000);
    r.more = nvidia(52000, 4e9, 100);
    EXPECT_THAT(w.send(r).messages(), Contains(HasSubstr("Tasks for NVIDIA GPU are available, but your preferences")));
}

TEST(Told, WhichDatabaseTroubleItIs) {
    for (const auto& [kind, words] : {std::pair(DbError::Kind::kCantConnect, "Server can't open database"),
                                      std::pair(DbError::Kind::kLost, "a database query failed"),
                                      std::pair(DbError::Kind::kDuplicate, "a database query failed"),
                                      std::pair(DbError::Kind::kOther, "a database query failed")}) {
        RpcWorld w;
        const Id host = w.add_host();
        w.db.before = [kind = kind](const std::string&) { throw DbError(kind, 1, "trouble"); };
        const ReplyText reply = w.send(asking(host, 5));
        EXPECT_THAT(reply.messages(), ElementsAre(HasSubstr(words)));
        EXPECT_TRUE(reply.has("<project_is_down/>"));
    }
}

TEST(Told, Level1StoppedProjectsSpreadReturns) {
    std::set<std::string> delays;
    for (int i = 0; i < 40; ++i) {
        RpcWorld w("", 1);
        w.rng = FixedRng(static_cast<std::uint64_t>(i));
        const Id host = w.add_host();
        w.db.before = [](const std::string&) { throw DbError(DbError::Kind::kCantConnect, 2002, "away"); };
        const std::string delay = w.send(asking(host, 5)).value("request_delay");
        EXPECT_GE(std::stod(delay), 120);
        EXPECT_LE(std::stod(delay), 600);
        delays.insert(delay);
    }
    EXPECT_GT(delays.size(), 20u);
}

TEST(Told, Level1GpuTypesLevel0ClassNames) {
    for (const char* name : {"fastgpu", "opencl_intel", "c"})
        for (const int level : {0, 1})
            for (const bool cpu_too : {false, true}) {
                RpcWorld w("", level);
                plan_class(w, name, "<gpu_type>nvidia</gpu_type>");
                w.add_job();
                RequestText r = asking(w.add_host(), 1000);
                r.more = nvidia(52000, 4e9, 100);
                if (!cpu_too) r.more += "<cpu_req_secs>0</cpu_req_secs>";
                const ReplyText reply = w.send(r);
                EXPECT_EQ(reply.result_names().size(), level) << name;
                EXPECT_EQ(reply.has("names their plan class wrongly"), level == 0) << reply.text();
                EXPECT_EQ(reply.has("<no_rsc_apps>NVIDIA</no_rsc_apps>"), level == 0) << name;
                EXPECT_EQ(reply.has("<no_rsc_apps>CPU</no_rsc_apps>"), level == 1) << "there is no CPU version";
            }
}

TEST(Told, WhatGpuIsRequiredWhateverClassIsCalled) {
    for (const int level : {0, 1}) {
        RpcWorld w("", level);
        plan_class(w, "fastgpu", "<gpu_type>nvidia</gpu_type>");
        w.add_job();
        EXPECT_TRUE(w.send(asking(w.add_host(), 1000)).has("An NVIDIA GPU is required")) << level;
    }
}

// Upstream names the figure for one processor in the second line.
TEST(Told, DailyQuotaIsOneFigureInBothLines) {
    RpcWorld w("<daily_result_quota>100</daily_result_quota>");
    const Id host = w.add_host();
    w.db.hosts[host].rpc_time = w.clock.now_sec() - 10;
    w.db.host_app_versions[{host, 1}] = {host, 1, 0, 0, {}, 5, 20, {}, 0};
    w.add_job();
    EXPECT_THAT(w.send(asking(host, 1000)).messages(),
                IsSupersetOf(
                    {"Daily job limit (20) has been reached", "This computer has finished a daily quota of 20 tasks"}));
}

TEST(Told, AppsWithoutJobsByName) {
    RpcWorld w;
    second_app(w);
    prefer(w, "<app_id>1</app_id><app_id>2</app_id>");
    w.reload_tables();
    w.add_job([](Workunit& wu) { wu.rsc_disk_bound = 1e15; });
    const auto said = w.send(asking(w.add_host(), 1000)).messages();
    EXPECT_THAT(said, Contains("No tasks are available for Other app"));
    EXPECT_THAT(said, Not(Contains("No tasks are available for Upcase"))) << "there are, but they need more disk";
}

TEST(Told, AnonymousPlatformWithoutAVersionOfTheApp) {
    RpcWorld w;
    w.db.platforms[9] = {.id = 9, .name = "anonymous", .user_friendly_name = "anonymous"};
    w.reload_tables();
    w.add_job();
    RequestText r = asking(w.add_host(), 1000);
    r.platform = "anonymous";
    EXPECT_THAT(w.send(r).messages(), Not(Contains(HasSubstr("Unknown"))));
    r.seqno = 1;
    r.more =
        "<app_versions><app_version><app_name>up</app_name><version_num>1</version_num><flops>1e9</flops>"
        "</app_version></app_versions>";
    w.db.apps[1].min_version = 5;
    w.reload_tables();
    EXPECT_THAT(w.send(r).messages(), Contains(HasSubstr("have a usable version of\") Upcase.")));
}

TEST(Told, ClientsOwnGpuVersionIsItsOwnChoice) {
    for (const int level : {0, 1}) {
        RpcWorld w("", level);
        w.db.platforms[9] = {.id = 9, .name = "anonymous", .user_friendly_name = "anonymous"};
        w.db.versions[1].plan_class = "cuda";
        w.reload_tables();
        prefer(w, "<no_cuda>1</no_cuda>");
        w.add_job();
        RequestText r = asking(w.add_host(), 1000);
        r.platform = "anonymous";
        r.more =
            "<app_versions><app_version><app_name>up</app_name><version_num>100</version_num><flops>1e9</flops>"
            "<coproc><type>NVIDIA</type><count>1</count></coproc></app_version></app_versions>" +
            nvidia(52000, 4e9, 100);
        EXPECT_THAT(w.send(r).result_names(), SizeIs(level == 0 ? 1 : 0)) << "level " << level;
    }
}

TEST(Told, APinnedVersionIsNoneForTheDevice) {
    for (const bool deprecated : {false, true}) {
        RpcWorld w;
        w.db.apps[1].homogeneous_app_version = true;
        AppVersion old = w.db.versions[1];
        old.id = 2;
        old.plan_class = "cuda";
        old.deprecated = deprecated;
        w.db.versions[2] = old;
        w.reload_tables();
        RequestText r = asking(w.add_host(), 1000);
        r.more = nvidia(52000, 4e9, 0);
        EXPECT_EQ(w.send(r).has("<no_rsc_apps>NVIDIA</no_rsc_apps>"), deprecated);
    }
}

TEST(Told, BudaVariantsCountAsVersions) {
    RpcWorld w;
    w.files().write("buda_apps/x/cuda/variant.json", R"({"cpu_type": "intel", "plan_class": "cuda_x"})");
    w.reload_files();
    RequestText r = asking(w.add_host(), 1000);
    r.more = nvidia(52000, 4e9, 0);
    EXPECT_FALSE(w.send(r).has("<no_rsc_apps>NVIDIA</no_rsc_apps>")) << "else the client would never ask for GPU work";
}

TEST(Told, ThereIsNoVersionForThePlatform) {
    RpcWorld w;
    w.db.platforms[9] = {.id = 9, .name = "windows_x86_64", .user_friendly_name = "Windows"};
    w.reload_tables();
    w.add_job();
    RequestText r = asking(w.add_host(), 1000);
    r.platform = "windows_x86_64";
    EXPECT_THAT(w.send(r).messages(),
                ::testing::ElementsAre(
                    "No tasks sent", "No application of this project runs on this type of computer (windows_x86_64)"));
}

TEST(Told, NoVersionForTheRequestedDevice) {
    RpcWorld w;
    second_app(w);
    w.db.versions.erase(1);  // of the app that has jobs
    w.reload_tables();
    w.add_job();
    EXPECT_THAT(w.send(asking(w.add_host(), 1000)).messages(),
                ::testing::ElementsAre(
                    "No tasks sent",
                    "The tasks that wait have no application for this computer and the resources it asks work for"));
}

TEST(Told, TasksOnlyForOtherDevices) {
    RpcWorld w;
    second_app(w);
    w.db.versions[2].plan_class = "cuda";  // there might be tasks for the GPU, but there are none
    w.reload_tables();
    w.add_job();
    RequestText r = asking(w.add_host(), 0);
    r.more = nvidia(52000, 4e9, 1000);
    EXPECT_THAT(w.send(r).messages(),
                ::testing::ElementsAre(
                    "No tasks sent",
                    "The tasks that wait have no application for this computer and the resources it asks work for"));
}

TEST(Told, SelectedAppsWithoutTasksAreNamedOnce) {
    RpcWorld w("", 1);
    second_app(w);
    prefer(w, "<app_id>2</app_id><app_id>2</app_id>");
    w.reload_tables();
    w.add_job();
    const auto said = w.send(asking(w.add_host(), 1000)).messages();
    EXPECT_THAT(said, ::testing::ElementsAre("No tasks sent", "No tasks are available for Other app"));
}

// Upstream asks whether a job is for reliable hosts before it looks at the HR class.
TEST(Told, ReliableJobsOfAnotherClassAreNone) {
    for (const bool reliable_only : {false, true}) {
        RpcWorld w;
        prefer(w, "<app_id>1</app_id>");
        w.db.apps[1].homogeneous_redundancy = HrType::kCoarse;
        w.reload_tables();
        w.add_job();
        w.pool.slots[0].job.hr_class = 386;
        w.pool.slots[0].job.need_reliable = reliable_only ? 1 : 0;
        const auto said = w.send(asking(w.add_host(), 1000)).messages();
        EXPECT_THAT(said, Contains("Tasks are committed to other platforms"));
        EXPECT_EQ(std::count(said.begin(), said.end(), "No tasks are available for Upcase"), reliable_only ? 1 : 0);
    }
}

}  // namespace
}  // namespace sluice::test
