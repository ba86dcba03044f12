// SPDX-License-Identifier: LGPL-3.0-or-later
// client_state.xml, element by element, as boinc-client 7.20.5 writes it.
#include <nlohmann/json.hpp>

#include "sched/sim/client_state_file.h"
#include "sluice/base/text.h"
#include "tests/support/temp_dir.h"

namespace sluice {
namespace {

constexpr double kDay = 86400;

const std::string kFile = R"(<client_state>
<host_info>
    <p_ncpus>8</p_ncpus>
    <p_fpops>1000000000.000000</p_fpops>
    <coprocs>
<coproc_cuda>
   <count>2</count>
   <peak_flops>20000000000.000000</peak_flops>
</coproc_cuda>
    </coprocs>
</host_info>
<time_stats>
    <on_frac>0.800000</on_frac>
    <active_frac>0.500000</active_frac>
    <gpu_active_frac>0.250000</gpu_active_frac>
    <client_start_time>1000000.000000</client_start_time>
    <previous_uptime>500.000000</previous_uptime>
</time_stats>
<project>
    <master_url>http://one/</master_url>
    <project_name>One</project_name>
    <rec>12.500000</rec>
    <resource_share>300.000000</resource_share>
    <duration_correction_factor>2.000000</duration_correction_factor>
    <min_rpc_time>0.000000</min_rpc_time>
    <rsc_backoff_time>
        <name>NVIDIA</name>
        <value>1000900.000000</value>
    </rsc_backoff_time>
</project>
<app><name>w</name><non_cpu_intensive>0</non_cpu_intensive></app>
<app><name>idle</name><non_cpu_intensive>1</non_cpu_intensive></app>
<app_version><app_name>w</app_name><version_num>100</version_num><platform>p</platform><avg_ncpus>2</avg_ncpus><flops>4e9</flops><plan_class>mt</plan_class></app_version>
<app_version><app_name>w</app_name><version_num>100</version_num><platform>p</platform><avg_ncpus>0.5</avg_ncpus><flops>1e10</flops><plan_class>cuda</plan_class><coproc><type>NVIDIA</type><count>1</count></coproc></app_version>
<workunit><name>wu</name><app_name>w</app_name><rsc_fpops_est>4e12</rsc_fpops_est></workunit>
<workunit><name>wu_idle</name><app_name>idle</app_name><rsc_fpops_est>4e12</rsc_fpops_est></workunit>
<result><name>second</name><state>2</state><platform>p</platform><version_num>100</version_num><plan_class>mt</plan_class><wu_name>wu</wu_name><report_deadline>1050000</report_deadline><received_time>900001</received_time></result>
<result><name>first</name><state>2</state><platform>p</platform><version_num>100</version_num><plan_class>cuda</plan_class><wu_name>wu</wu_name><report_deadline>1060000</report_deadline><received_time>900000</received_time></result>
<result><name>done</name><state>5</state><platform>p</platform><version_num>100</version_num><plan_class>mt</plan_class><wu_name>wu</wu_name></result>
<result><name>suspended</name><state>2</state><suspended_via_gui/><platform>p</platform><version_num>100</version_num><plan_class>mt</plan_class><wu_name>wu</wu_name></result>
<result><name>nearly_no_cpu</name><state>2</state><platform>p</platform><version_num>100</version_num><plan_class></plan_class><wu_name>wu_idle</wu_name></result>
<project>
    <master_url>http://two/</master_url>
    <project_name>One</project_name>
    <dont_request_more_work/>
    <cpu_backoff_time>1000700.000000</cpu_backoff_time>
</project>
<active_task_set>
<active_task><project_master_url>http://one/</project_master_url><result_name>second</result_name><active_task_state>1</active_task_state><checkpoint_elapsed_time>500</checkpoint_elapsed_time><checkpoint_fraction_done>0.5</checkpoint_fraction_done><checkpoint_fraction_done_elapsed_time>500</checkpoint_fraction_done_elapsed_time></active_task>
</active_task_set>
<host_venue>home</host_venue>
</client_state>
)";

class StateFile : public testing::Test {
  protected:
    ClientFile read(std::string text = kFile) {
        return read_client_state(folder_.write("client_state.xml", text).string(), text);
    }
    std::string complaint(std::string_view from, std::string_view to) {
        std::string text = kFile;
        if (!from.empty()) replace_all(text, from, to);
        try {
            read(text);
        } catch (const json::InputError& e) {
            return std::string(e.what()).substr((folder_ / "client_state.xml").string().size());
        }
        return "none";
    }

    test::TempDir folder_;
};

TEST_F(StateFile, GivesWhatThePoliciesNeed) {
    const ClientFile file = read();
    const client::State& s = file.state;
    EXPECT_EQ(s.now, 1000500) << "when it was written";
    EXPECT_DOUBLE_EQ(s.on_frac, 0.4);
    EXPECT_EQ(file.types, (std::vector<std::string>{"CPU", "NVIDIA"}));
    EXPECT_EQ(s.types[0].instances, 8);
    EXPECT_EQ(s.types[1].instances, 2);
    EXPECT_DOUBLE_EQ(s.types[1].speed, 0.2 * 2 * 20);
    EXPECT_EQ(file.projects, (std::vector<std::string>{"One", "http://two/"})) << "two of one name are told apart";
    EXPECT_EQ(s.projects[0].resource_share, 300);
    EXPECT_EQ(s.projects[0].rec, 12.5);
    EXPECT_TRUE(s.projects[0].fetchable);
    EXPECT_EQ(s.projects[0].backoff_until, (std::vector<double>{0, 1000900}));
    EXPECT_FALSE(s.projects[1].fetchable);
    EXPECT_EQ(s.projects[1].backoff_until, (std::vector<double>{1000700, 0}));
}

TEST_F(StateFile, KeepsRunnableJobsInOrder) {
    const ClientFile file = read();
    EXPECT_EQ(file.jobs, (std::vector<std::string>{"first", "second"}));
    const client::Job &gpu = file.state.jobs[0], &cpu = file.state.jobs[1];
    EXPECT_EQ(gpu.type, 1u);
    EXPECT_EQ(gpu.cpus, 0.5);
    EXPECT_EQ(gpu.deadline, 1060000);
    EXPECT_FALSE(gpu.started);
    // 4e12 at 1e10 a second is 400 s, twice that by the correction factor; GPUs compute half as often as CPUs do.
    EXPECT_DOUBLE_EQ(gpu.remaining, 2 * 400 * (0.4 / 0.2));
    EXPECT_EQ(cpu.instances, 2);
    EXPECT_TRUE(cpu.started);
    EXPECT_TRUE(cpu.running);
    // 2000 s by the estimate, 1000 s by the progress; half of each, less the 500 s that it has run.
    EXPECT_DOUBLE_EQ(cpu.remaining, 0.5 * 1000 + 0.5 * 2000 - 500);
}

TEST_F(StateFile, PreferencesAreOverridesThenVenuesThenGeneralOnes) {
    EXPECT_EQ(read().state.work_buf_min, 0.1 * kDay) << "the client's default";
    EXPECT_EQ(read().state.work_buf_additional, 0.5 * kDay);
    folder_.write("global_prefs.xml",
                  "<global_preferences><work_buf_min_days>2</work_buf_min_days><max_ncpus_pct>50</max_ncpus_pct>"
                  "<venue name=\"home\"><work_buf_min_days>3</work_buf_min_days></venue></global_preferences>");
    EXPECT_EQ(read().state.work_buf_min, 3 * kDay);
    EXPECT_EQ(read().state.types[0].instances, 4);
    folder_.write("global_prefs_override.xml",
                  "<global_preferences><work_buf_min_days>0</work_buf_min_days></global_preferences>");
    EXPECT_EQ(read().state.work_buf_min, 180) << "never less than three minutes";
    folder_.write("cc_config.xml", "<cc_config><options><ncpus>3</ncpus></options></cc_config>");
    EXPECT_EQ(read().state.types[0].instances, 1) << "half of three";
}

TEST_F(StateFile, IsToldFromJsonByItsFirstCharacter) {
    const auto result = nlohmann::json::parse(client_decisions(folder_.write("client_state.xml", kFile).string()));
    EXPECT_EQ(result["run"], (std::vector<std::string>{"first", "second"}));
    EXPECT_EQ(result["wrr"]["NVIDIA"]["idle_instances"], 1);
}

TEST_F(StateFile, WrongOnesAreRefusedWithTheReason) {
    EXPECT_EQ(complaint("<client_state>", "<html>"), ": is neither JSON nor a client_state.xml");
    EXPECT_EQ(complaint("<client_start_time>1000000.000000</client_start_time>", ""),
              ": has no <client_start_time>, so its time is not known");
    EXPECT_EQ(complaint("<plan_class>cuda</plan_class><coproc>", "<plan_class>other</plan_class><coproc>"),
              ": result first has no app version");
    EXPECT_EQ(complaint("<wu_name>wu</wu_name>", "<wu_name>another</wu_name>"), ": result first has no workunit");
    EXPECT_EQ(complaint("<host_info>", "<app><name>w</name></app><host_info>"),
              ": an app stands before the first project");
    EXPECT_EQ(complaint("", ""), "none");
}

}  // namespace
}  // namespace sluice
