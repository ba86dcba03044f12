// SPDX-License-Identifier: LGPL-3.0-or-later
// One planted cause at a time: sched_explain, the real program on a real database and segment, names it. Every reason
// of the list has its case.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <ctime>
#include <set>

#include "sluice/match/verdict.h"
#include "tests/db/explain/planted_world.h"

namespace sluice::test {
namespace {

nlohmann::json explain_json(const Planted& planted, std::vector<std::string> args = {"--request", "request.xml"}) {
    return nlohmann::json::parse(explained(planted, std::move(args)));
}

struct Case {
    Reason reason;
    void (*plant)(Planted&);
    bool another_is_sent = false;  ///< a set check: it refuses the second job of a reply
};

void level_1(Planted& p) { p.config += "<compat_level>1</compat_level>"; }
void hr(Planted& p) {
    p.app().homogeneous_redundancy = HrType::kFine;
    App other = p.app();
    other.id = 2;
    other.name = "other";
    other.homogeneous_redundancy = HrType::kNone;
    p.rows.apps[2] = other;
}
void changed_later(Planted& p, void (*change)(Database&)) { p.after_fill = change; }

/// The job is of batch 5, which is to be done in `left` s; host 1 may be left out.
void planned(Planted& p, double left, const std::vector<LeftOutHost>& left_out = {}) {
    p.config = "<plan_batches>1</plan_batches>";
    p.workunit().batch = 5;
    const auto now = static_cast<double>(std::time(nullptr));
    p.plan = {1, now, {{5, now + left, 1, 1, 1, 1}}, left_out};
}

// A case a line.
// clang-format off
const Case kCases[] = {
    {Reason::kNoSuchApp, [](Planted& p) { p.workunit().appid = p.result().appid = 99; }},
    {Reason::kNoAppVersion,
     [](Planted& p) {
         p.rows.platforms[2] = {2, "windows_x86_64", "Windows", false};
         p.version().platformid = 2;
         AppVersion other = p.version();  // of another app, so that the project has CPU work for this host
         other.id = 2;
         other.appid = 2;
         other.platformid = 1;
         p.rows.versions[2] = other;
         hr(p);
         p.app().homogeneous_redundancy = HrType::kNone;
     }},
    {Reason::kAppNotSelected,
     [](Planted& p) { p.user().project_prefs = "<project_preferences><project_specific><app_id>2</app_id></project_specific></project_preferences>"; }},
    {Reason::kBetaNotAllowed, [](Planted& p) { p.app().beta = true; }},
    {Reason::kUserFilter, [](Planted& p) { p.config = "<user_filter/>"; p.workunit().batch = 77; }},
    {Reason::kJobWithoutBatch, [](Planted& p) { p.config = "<share_rule>settled</share_rule><jobs_without_batch>refuse</jobs_without_batch>"; }},
    {Reason::kHrClassUnknown, [](Planted& p) { hr(p); p.edits = {{"Linux Debian", "Plan 9"}}; }},
    {Reason::kHrClassMismatch, [](Planted& p) { hr(p); p.workunit().hr_class = 999; }},
    {Reason::kAppVersionMismatch, [](Planted& p) { p.workunit().app_version_num = 200; }},
    {Reason::kMemory, [](Planted& p) { p.workunit().rsc_memory_bound = 1e10; }},
    {Reason::kDisk, [](Planted& p) { p.workunit().rsc_disk_bound = 1e12; }},
    {Reason::kBandwidth,
     [](Planted& p) { p.workunit().rsc_bandwidth_bound = 1e6; p.request.more = "<net_stats><bwup>1e4</bwup><bwdown>1e5</bwdown></net_stats>"; }},
    {Reason::kKeywordRefused,
     [](Planted& p) { p.config = "<keyword_sched/>"; p.workunit().keywords = "2 3"; p.files = {"kw_prefs/1", "\n3\n"}; }},
    {Reason::kNeedsReliable, [](Planted& p) { p.config = "<reliable_on_priority>10</reliable_on_priority>"; p.result().priority = 20; }},
    {Reason::kReservedForLtt, [](Planted& p) { p.config = "<batch_accel/>"; p.app().n_size_classes = 1; p.workunit().priority = 1; }},
    {Reason::kNonCpuIntensive, [](Planted& p) { p.app().non_cpu_intensive = true; p.in_progress(1); }},
    {Reason::kResourceNotWanted, [](Planted& p) { p.plan_class("<gpu_type>nvidia</gpu_type>"); p.nvidia(true, 0); }},
    {Reason::kClientTooOld, [](Planted& p) { p.version().min_core_version = 90000; }},
    {Reason::kClientTooNew, [](Planted& p) { p.version().max_core_version = 70000; }},
    {Reason::kNoPlanClassSupport,
     [](Planted& p) { p.plan_class("<min_ncpus>2</min_ncpus><avg_ncpus>2</avg_ncpus>"); p.edits = {{"<client_cap_plan_class>1", "<client_cap_plan_class>0"}}; }},
    {Reason::kPlanClassRefused, [](Planted& p) { p.version().plan_class = "nonsense"; }},
    {Reason::kGpuRefusedByPrefs,
     [](Planted& p) {
         p.plan_class("<gpu_type>nvidia</gpu_type>", "cuda_special");
         p.nvidia();
         p.user().project_prefs = "<project_preferences><no_cuda>1</no_cuda></project_preferences>";
     }},
    {Reason::kCpuRefusedByPrefs, [](Planted& p) { p.user().project_prefs = "<project_preferences><no_cpu>1</no_cpu></project_preferences>"; }},
    {Reason::kCustomHook, [](Planted& p) { p.plan_class("<min_wu_id>1000000</min_wu_id>"); }},
    {Reason::kPlanClassName, [](Planted& p) { p.plan_class("<gpu_type>nvidia</gpu_type>", "fastgpu"); p.nvidia(); }},
    {Reason::kVersionDocument, [](Planted& p) { p.version().xml_doc.resize(p.version().xml_doc.find("</app_version>")); }},
    {Reason::kGpuMissing, [](Planted& p) { p.plan_class("<gpu_type>nvidia</gpu_type>"); }},
    {Reason::kGpuMemory, [](Planted& p) { p.plan_class("<gpu_type>nvidia</gpu_type><min_gpu_ram_mb>99999</min_gpu_ram_mb>", "cuda_x"); p.nvidia(); }},
    {Reason::kGpuDriver, [](Planted& p) { p.plan_class("<gpu_type>nvidia</gpu_type><min_driver_version>99900</min_driver_version>", "cuda_x"); p.nvidia(); }},
    {Reason::kGpuCapability, [](Planted& p) { p.plan_class("<gpu_type>nvidia</gpu_type><min_nvidia_compcap>9900</min_nvidia_compcap>", "cuda_x"); p.nvidia(); }},
    {Reason::kOpenclMissing, [](Planted& p) { p.plan_class("<gpu_type>nvidia</gpu_type><opencl/>", "cuda_x"); p.nvidia(false); }},
    {Reason::kVirtualBox, [](Planted& p) { p.plan_class("<virtualbox/>"); }},
    {Reason::kDocker, [](Planted& p) { p.plan_class("<docker/>"); }},
    {Reason::kCpuFeature, [](Planted& p) { p.plan_class("<cpu_feature>avx512f</cpu_feature>"); }},
    {Reason::kOsVersion, [](Planted& p) { p.plan_class("<os_regex>Windows</os_regex>"); }},
    {Reason::kCpuCount, [](Planted& p) { p.plan_class("<min_ncpus>64</min_ncpus>"); }},
    {Reason::kDeadline, [](Planted& p) { p.workunit().delay_bound = 5; p.edits = {{"<estimated_delay>0", "<estimated_delay>1"}}; }},
    {Reason::kDeadlineOthers,
     [](Planted& p) {
         p.config = "<workload_sim/>";
         p.request.ncpus = 1;
         p.edits = {{"<estimated_delay>0", "<estimated_delay>1"}};
         p.workunit().delay_bound = 500;
         p.workunit().rsc_fpops_est = 3e11;  // 300 s; the other one has 150 to spare, of which a busy machine takes some
         p.request.more = fmt::format("<in_progress_results><ip_result><name>of another project</name><report_deadline>{}</report_deadline>"
                                      "<cpu_time_remaining>1000</cpu_time_remaining></ip_result></in_progress_results>",
                                      std::time(nullptr) + 1150);
     }},
    {Reason::kPlanLeftOut, [](Planted& p) { planned(p, 1e6, {{1, 3, 5}}); }},
    {Reason::kPlanAwaited,
     [](Planted& p) {
         planned(p, 60);
         p.workunit().batch = 6;
         Result newer = p.result();
         newer.id = 2;
         p.rows.results = {{2, newer}};
         p.plan.newest_batch = 5, p.plan.newest_result = 1;
     }},
    {Reason::kPlanTooLate, [](Planted& p) { planned(p, -60); }},
    {Reason::kPlanRoom, [](Planted& p) { planned(p, 1e6); p.request.ncpus = 1; p.another_job(); }, true},
    {Reason::kDiskSet, [](Planted& p) { p.workunit().rsc_disk_bound = 3e11; p.another_job(); }, true},
    {Reason::kMemorySet,
     [](Planted& p) { p.edits = {{"<cpu_req_instances>0", "<cpu_req_instances>4"}}; level_1(p); p.workunit().rsc_memory_bound = 5e9; p.another_job(); }, true},
    {Reason::kOneInstancePerWorkunit,
     [](Planted& p) { level_1(p); Result r = p.result(); r.id = 2; r.name = "second"; p.rows.results[2] = r; }, true},
    {Reason::kInProgressLimit,
     [](Planted& p) { p.config_aux = "<max_jobs_in_progress><project><total_limit><jobs>1</jobs></total_limit></project></max_jobs_in_progress>"; p.in_progress(1); }},
    {Reason::kAppInProgressLimit,
     [](Planted& p) {
         p.config_aux = "<max_jobs_in_progress><app><app_name>up</app_name><total_limit><jobs>1</jobs></total_limit></app></max_jobs_in_progress>";
         p.another_job();
     }, true},
    {Reason::kDailyQuota,
     [](Planted& p) { HostAppVersion v; v.host_id = v.app_version_id = 1; v.max_jobs_per_day = 1; v.n_jobs_today = 5; p.rows.host_app_versions[{1, 1}] = v; }},
    {Reason::kJobsPerRpcLimit, [](Planted& p) { p.config = "<max_wus_to_send>1</max_wus_to_send>"; p.request.ncpus = 1; p.another_job(); }, true},
    {Reason::kUserJobLimit,
     [](Planted& p) { p.user().project_prefs = "<project_preferences><max_jobs>1</max_jobs></project_preferences>"; p.in_progress(1); }},
    {Reason::kOneResultPerUser, [](Planted& p) { p.config = "<one_result_per_user_per_wu/>"; p.in_progress(2, 1); }},
    {Reason::kOneResultPerHost, [](Planted& p) { p.config = "<one_result_per_host_per_wu/>"; p.in_progress(1, 1); }},
    {Reason::kHrCommittedElsewhere, [](Planted& p) { hr(p); changed_later(p, [](Database& db) { db.execute(Sql("UPDATE workunit SET hr_class=999")); }); }},
    {Reason::kVersionCommittedElsewhere,
     [](Planted& p) { p.app().homogeneous_app_version = true; changed_later(p, [](Database& db) { db.execute(Sql("UPDATE workunit SET app_version_id=77")); }); }},
    {Reason::kWorkunitError, [](Planted& p) { changed_later(p, [](Database& db) { db.execute(Sql("UPDATE workunit SET error_mask=16")); }); }},
    {Reason::kWorkunitDone, [](Planted& p) { changed_later(p, [](Database& db) { db.execute(Sql("UPDATE workunit SET canonical_resultid=7")); }); }},
    {Reason::kWorkunitDocument, [](Planted& p) { p.workunit().xml_doc.resize(p.workunit().xml_doc.find("</workunit>")); }},
    {Reason::kResultDocument, [](Planted& p) { p.result().xml_doc_in.resize(p.result().xml_doc_in.find("</result>")); }},
    {Reason::kResultGone, [](Planted& p) { changed_later(p, [](Database& db) { db.execute(Sql("UPDATE result SET server_state=5")); }); }},
};
// clang-format on

class PlantedCause : public testing::TestWithParam<Case> {};

TEST_P(PlantedCause, IsNamed) {
    const Case& c = GetParam();
    Planted p;
    c.plant(p);
    p.store();
    const auto j = explain_json(p);
    EXPECT_EQ(j["search"], "done") << j.dump(1);
    EXPECT_EQ(j["would_send"], c.another_is_sent ? 1 : 0) << j.dump(1);
    if (!c.another_is_sent) {
        EXPECT_EQ(j["binding"], reason_name(c.reason)) << j.dump(1);
        EXPECT_EQ(j["summary"][0]["reason"], reason_name(c.reason)) << j.dump(1);
    }
    const auto& summary = j["summary"];
    const auto named = std::find_if(summary.begin(), summary.end(),
                                    [&](const auto& s) { return s["reason"] == reason_name(c.reason); });
    ASSERT_NE(named, summary.end()) << j.dump(1);
    const bool by_options = c.reason == Reason::kInProgressLimit || c.reason == Reason::kAppInProgressLimit;
    if (!by_options) {  // those: ProjectState
        EXPECT_EQ((*named)["advice"], reason_advice(c.reason));
    }
    const bool of_a_job = std::any_of(j["jobs"].begin(), j["jobs"].end(),
                                      [&](const auto& job) { return job["fate"] == reason_name(c.reason); });
    EXPECT_TRUE(of_a_job) << j.dump(1);
}

std::string name_of(const testing::TestParamInfo<Case>& info) { return reason_name(info.param.reason); }
INSTANTIATE_TEST_SUITE_P(Reasons, PlantedCause, testing::ValuesIn(kCases), name_of);

TEST(PlantedCauses, WithoutACauseTheJobIsSent) {
    Planted p;
    p.store();
    const auto j = explain_json(p);
    EXPECT_EQ(j["would_send"], 1) << j.dump(1);
    EXPECT_TRUE(j["binding"].is_null());
    EXPECT_TRUE(j["summary"].empty()) << j.dump(1);
    ASSERT_EQ(j["jobs"].size(), 1u);
    EXPECT_EQ(j["jobs"][0]["fate"], "sent");
    EXPECT_TRUE(j["jobs"][0]["terms"].contains("result_priority"));
    Planted gpu;
    gpu.plan_class("<gpu_type>nvidia</gpu_type><opencl/>", "cuda_x");
    gpu.nvidia();
    gpu.store();
    EXPECT_EQ(explain_json(gpu)["would_send"], 1) << explain_json(gpu).dump(1);
}

TEST(PlantedCauses, EveryReasonThatCanRefuseHasItsCase) {
    std::set<Reason> planted{Reason::kLookUpLimit};  // takes thousands of jobs: Seed002.LookUpsAreBounded…
    for (const Case& c : kCases) EXPECT_TRUE(planted.insert(c.reason).second) << reason_name(c.reason);
    for (int r = 1; r < static_cast<int>(Reason::kCount); ++r)
        EXPECT_TRUE(!is_refusal(static_cast<Reason>(r)) || planted.contains(static_cast<Reason>(r)))
            << reason_name(static_cast<Reason>(r));
    EXPECT_GE(planted.size(), 30u);
}

TEST(PlannedBatch, EachJobShowsTheTOfItsBatch) {
    Planted p;
    planned(p, 1e6);
    p.store();
    const auto j = explain_json(p);
    EXPECT_EQ(j["would_send"], 1) << j.dump(1);
    EXPECT_EQ(j["jobs"][0]["plan"]["hosts"], 1) << j.dump(1);
    EXPECT_NE(explain(p, {"--request", "request.xml"}).out.find("(batch 5: T 20"), std::string::npos);
}

}  // namespace
}  // namespace sluice::test
