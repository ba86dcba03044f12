// SPDX-License-Identifier: LGPL-3.0-or-later
// plan_class_spec.xml: every tag against a host that has what it asks for and one that has not; what a job then uses;
// bad files; the built-in classes.
#include <functional>

#include "sched/match/plan_class_spec.h"
#include "tests/support/match_world.h"

namespace sluice::test {
namespace {

using match::PlanClassAnswer;
constexpr double kMega = 1024 * 1024;

struct PlanClass : testing::Test {
    MatchWorld w;
    PlanClassAnswer spec(const std::string& tags) {
        const std::string xml = "<plan_classes><plan_class><name>c</name>" + tags + "</plan_class></plan_classes>";
        w.plan_classes = PlanClasses::from_spec(xml, "plan_class_spec.xml");
        EXPECT_TRUE(w.plan_classes.problems().empty()) << w.plan_classes.problems().front();
        const PlanClassSpec* found = w.plan_classes.find("c", w.params.compat_level);
        if (!found) return {refuse(Reason::kPlanClassRefused), {}, {}};
        const MatchContext c = w.context();
        return match::evaluate_plan_class(c, *found);
    }
    PlanClassAnswer built_in(const std::string& name) {
        const auto found = built_in_plan_class(name, w.params.compat_level);
        if (!found) return {refuse(Reason::kPlanClassRefused), {}, {}};
        const MatchContext c = w.context();
        return match::evaluate_plan_class(c, *found);
    }
};

struct TagCase {
    const char* name;
    std::string tags;
    std::function<void(HostFacts&)> host;  ///< changes a Linux PC with an RTX card
    Reason expected;
};
void PrintTo(const TagCase& c, std::ostream* out) { *out << c.name; }
class SpecTag : public testing::TestWithParam<TagCase> {};

TEST_P(SpecTag, DecidesAsDocumented) {
    MatchWorld w;
    w.host = a_host().nvidia(1, 1e12);
    w.user.project_prefs = "<project_preferences><gpu>yes</gpu></project_preferences>";
    if (GetParam().host) GetParam().host(w.host);
    w.plan_classes = PlanClasses::from_spec(
        "<plan_classes><plan_class><name>c</name>" + GetParam().tags + "</plan_class></plan_classes>", "spec");
    ASSERT_TRUE(w.plan_classes.problems().empty()) << w.plan_classes.problems().front();
    const MatchContext c = w.context();
    const auto answer = match::evaluate_plan_class(c, *w.plan_classes.find("c", 0));
    EXPECT_STREQ(reason_name(answer.verdict.reason), reason_name(GetParam().expected));
}

void windows(HostFacts& h) {
    h.row.os_name = "Microsoft Windows 11";
    h.row.os_version = "Pro, (10.00.22621.00)";
    h.platforms = {"windows_x86_64"};
}
void android(HostFacts& h) {
    h.row.os_name = "Android";
    h.row.os_version = "4.14.190-user (Android 12)";
}
void vbox(HostFacts& h) { h.virtualbox_version = "6.1.38"; }
void wsl_docker(HostFacts& h) {
    windows(h);
    WslDistro d;
    d.name = "boinc-buda-runner";
    d.distro_version = 3;
    d.docker_version = "24.0";
    d.libc_version = "2.35";
    d.gpus = {{"nvidia", true, false}};
    h.wsl = {d};
}
void amd(HostFacts& h) {
    Coproc c;
    c.type = "ATI";
    c.proc_type = ProcType::kAmd;
    c.count = 1;
    c.peak_flops = 1e12;
    c.have_cal = true;
    c.cal_version = 10041720;
    c.cal_target = 15;
    c.atirt_detected = true;
    c.opencl.present = true;
    c.opencl.device_version_int = 102;
    c.opencl.global_mem_size = 1024 * kMega;
    h.coprocs = {c};
}
void apple(HostFacts& h) {
    Coproc c;
    c.type = "apple_gpu";
    c.proc_type = ProcType::kAppleGpu;
    c.count = 1;
    c.peak_flops = 1e12;
    c.metal_support = 2;
    h.coprocs = {c};
}
void other_gpu(HostFacts& h) {
    Coproc c;
    c.type = "Mali-G78";
    c.count = 1;
    c.peak_flops = 1e11;
    h.coprocs = {c};
}

// A case a line.
// clang-format off
const TagCase kTags[] = {
    {"nothing", "", nullptr, Reason::kFeasible},
    {"never", "<infeasible_random>1</infeasible_random>", nullptr, Reason::kCustomHook},
    {"own_user", "<user_id>5</user_id>", nullptr, Reason::kFeasible},
    {"other_user", "<user_id>6</user_id>", nullptr, Reason::kCustomHook},
    {"feature", "<cpu_feature>SSE2</cpu_feature>", nullptr, Reason::kFeasible},
    {"no_feature", "<cpu_feature>avx</cpu_feature>", nullptr, Reason::kCpuFeature},
    {"part_of_a_feature", "<cpu_feature>ss</cpu_feature>", nullptr, Reason::kCpuFeature},
    {"two_features", "<cpu_feature>sse</cpu_feature><cpu_feature>avx</cpu_feature>", nullptr, Reason::kCpuFeature},
    {"cpus", "<min_ncpus>4</min_ncpus>", nullptr, Reason::kFeasible},
    {"few_cpus", "<min_ncpus>5</min_ncpus>", nullptr, Reason::kCpuCount},
    {"os_regex", "<os_regex>^6\\.</os_regex>", nullptr, Reason::kFeasible},
    {"os_regex_no", "<os_regex>^5\\.</os_regex>", nullptr, Reason::kOsVersion},
    {"min_os", "<min_os_version>60100</min_os_version>", nullptr, Reason::kFeasible},
    {"min_os_no", "<min_os_version>60101</min_os_version>", nullptr, Reason::kOsVersion},
    {"max_os_no", "<max_os_version>60099</max_os_version>", nullptr, Reason::kOsVersion},
    {"os_unknown", "<min_os_version>1</min_os_version>", [](HostFacts& h) { h.row.os_version = "?"; }, Reason::kOsVersion},
    {"windows_version", "<min_os_version>1002262100</min_os_version>", windows, Reason::kFeasible},
    {"android", "<min_android_version>120000</min_android_version>", android, Reason::kFeasible},
    {"android_old", "<min_android_version>120001</min_android_version>", android, Reason::kOsVersion},
    {"not_android", "<min_android_version>1</min_android_version>", nullptr, Reason::kOsVersion},
    {"android_max", "<max_android_version>110000</max_android_version>", android, Reason::kOsVersion},
    {"libc", "<min_libc_version>235</min_libc_version>",
     [](HostFacts& h) { h.row.os_version = "Ubuntu [5.15.0|libc 2.35]"; }, Reason::kFeasible},
    {"libc_old", "<min_libc_version>236</min_libc_version>",
     [](HostFacts& h) { h.row.os_version = "Ubuntu [5.15.0|libc 2.35]"; }, Reason::kOsVersion},
    {"vendor", "<cpu_vendor_regex>Intel|AMD</cpu_vendor_regex>", nullptr, Reason::kFeasible},
    {"vendor_no", "<cpu_vendor_regex>AMD</cpu_vendor_regex>", nullptr, Reason::kPlanClassRefused},
    {"model_no", "<cpu_model_regex>Ryzen</cpu_model_regex>", nullptr, Reason::kPlanClassRefused},
    {"client_min", "<min_core_client_version>80003</min_core_client_version>", nullptr, Reason::kClientTooOld},
    {"client_max", "<max_core_client_version>80001</max_core_client_version>", nullptr, Reason::kClientTooNew},
    {"vbox", "<virtualbox/><is64bit/>", vbox, Reason::kFeasible},
    {"vbox_missing", "<virtualbox/><is64bit/>", nullptr, Reason::kVirtualBox},
    {"vbox_unusable", "<virtualbox/><is64bit/>", [](HostFacts& h) { h.virtualbox_version = "6.1.0 unusable"; }, Reason::kVirtualBox},
    {"vbox_bits", "<virtualbox/>", vbox, Reason::kPlanClassRefused},
    {"vbox_min", "<virtualbox/><is64bit/><min_vbox_version>60139</min_vbox_version>", vbox, Reason::kVirtualBox},
    {"vbox_max", "<virtualbox/><is64bit/><max_vbox_version>60137</max_vbox_version>", vbox, Reason::kVirtualBox},
    {"vbox_excluded", "<virtualbox/><is64bit/><exclude_vbox_version>60138</exclude_vbox_version>", vbox, Reason::kVirtualBox},
    {"vbox_old_client", "<virtualbox/><is64bit/>", [](HostFacts& h) { vbox(h); h.client_version = 61200; }, Reason::kClientTooOld},
    {"vm_accel", "<virtualbox/><is64bit/><vm_accel_required/>", vbox, Reason::kFeasible},
    {"vm_accel_off", "<virtualbox/><is64bit/><vm_accel_required/>",
     [](HostFacts& h) { vbox(h); h.vm_extensions_disabled = true; }, Reason::kCpuFeature},
    {"wsl", "<wsl/>", wsl_docker, Reason::kFeasible},
    {"wsl_missing", "<wsl/>", windows, Reason::kDocker},
    {"wsl_disallowed", "<wsl/>", [](HostFacts& h) { wsl_docker(h); h.wsl[0].disallowed = true; }, Reason::kDocker},
    {"wsl_libc", "<wsl/><min_libc_version>235</min_libc_version>", wsl_docker, Reason::kFeasible},
    {"wsl_libc_old", "<wsl/><min_libc_version>236</min_libc_version>", wsl_docker, Reason::kDocker},
    {"docker", "<docker/>", [](HostFacts& h) { h.docker_version = "24.0"; }, Reason::kFeasible},
    {"docker_missing", "<docker/>", nullptr, Reason::kDocker},
    {"docker_off", "<docker/>", [](HostFacts& h) { h.docker_version = "24.0"; h.dont_use_docker = true; }, Reason::kDocker},
    {"docker_windows", "<docker/>", wsl_docker, Reason::kFeasible},
    {"docker_windows_distro", "<docker/><min_boinc_wsl_distro_version>4</min_boinc_wsl_distro_version>", wsl_docker, Reason::kDocker},
    {"docker_windows_no_wsl", "<docker/>", [](HostFacts& h) { wsl_docker(h); h.dont_use_wsl = true; }, Reason::kDocker},
    {"docker_mac_old_client", "<docker/>",
     [](HostFacts& h) { h.row.os_name = "Darwin"; h.docker_version = "24"; h.client_version = 80205; }, Reason::kClientTooOld},
    {"docker_gpu_windows", "<docker/><gpu_type>nvidia</gpu_type><cuda/>", wsl_docker, Reason::kFeasible},
    {"docker_gpu_windows_no", "<docker/><gpu_type>nvidia</gpu_type><opencl/>", wsl_docker, Reason::kDocker},
    {"prefs", "<project_prefs_tag>gpu</project_prefs_tag><project_prefs_regex>yes</project_prefs_regex>", nullptr, Reason::kFeasible},
    {"prefs_no", "<project_prefs_tag>gpu</project_prefs_tag><project_prefs_regex>no</project_prefs_regex>", nullptr,
     Reason::kPlanClassRefused},
    {"prefs_missing", "<project_prefs_tag>x</project_prefs_tag><project_prefs_regex>1</project_prefs_regex>", nullptr,
     Reason::kPlanClassRefused},
    {"prefs_default",
     "<project_prefs_tag>x</project_prefs_tag><project_prefs_regex>1</project_prefs_regex><project_prefs_default_true/>",
     nullptr, Reason::kFeasible},
    {"nvidia", "<gpu_type>nvidia</gpu_type>", nullptr, Reason::kFeasible},
    {"nvidia_missing", "<gpu_type>nvidia</gpu_type>", amd, Reason::kGpuMissing},
    {"gpu_ram", "<gpu_type>nvidia</gpu_type><min_gpu_ram_mb>9000</min_gpu_ram_mb>", nullptr, Reason::kGpuMemory},
    {"driver", "<gpu_type>nvidia</gpu_type><min_driver_version>55001</min_driver_version>", nullptr, Reason::kGpuDriver},
    {"driver_max", "<gpu_type>nvidia</gpu_type><max_driver_version>54999</max_driver_version>", nullptr, Reason::kGpuDriver},
    {"driver_unknown", "<gpu_type>nvidia</gpu_type><min_driver_version>55001</min_driver_version>",
     [](HostFacts& h) { h.coprocs[0].driver_version = 0; }, Reason::kFeasible},
    {"compcap", "<gpu_type>nvidia</gpu_type><min_nvidia_compcap>807</min_nvidia_compcap>", nullptr, Reason::kGpuCapability},
    {"compcap_max", "<gpu_type>nvidia</gpu_type><max_nvidia_compcap>805</max_nvidia_compcap>", nullptr, Reason::kGpuCapability},
    {"cuda", "<gpu_type>nvidia</gpu_type><cuda/><min_cuda_version>12041</min_cuda_version>", nullptr, Reason::kGpuDriver},
    {"cuda_version_without_cuda", "<gpu_type>nvidia</gpu_type><min_cuda_version>12041</min_cuda_version>", nullptr, Reason::kFeasible},
    {"peak_min", "<gpu_type>nvidia</gpu_type><min_gpu_peak_flops>2e12</min_gpu_peak_flops>", nullptr, Reason::kGpuCapability},
    {"peak_max", "<gpu_type>nvidia</gpu_type><max_gpu_peak_flops>5e11</max_gpu_peak_flops>", nullptr, Reason::kGpuCapability},
    {"opencl", "<gpu_type>nvidia</gpu_type><opencl/><min_opencl_version>300</min_opencl_version>", nullptr, Reason::kFeasible},
    {"opencl_old", "<gpu_type>nvidia</gpu_type><opencl/><min_opencl_version>301</min_opencl_version>", nullptr, Reason::kOpenclMissing},
    {"opencl_missing", "<gpu_type>nvidia</gpu_type><opencl/>", [](HostFacts& h) { h.coprocs[0].opencl.present = false; },
     Reason::kOpenclMissing},
    {"double", "<gpu_type>nvidia</gpu_type><opencl/><double_precision_fp/>", nullptr, Reason::kFeasible},
    {"no_double", "<gpu_type>nvidia</gpu_type><opencl/><double_precision_fp/>",
     [](HostFacts& h) { h.coprocs[0].opencl.double_fp_config = 0; }, Reason::kGpuCapability},
    {"opencl_revision", "<gpu_type>nvidia</gpu_type><opencl/><min_opencl_driver_revision>5</min_opencl_driver_revision>",
     nullptr, Reason::kGpuDriver},
    {"opencl_cpu_missing", "<opencl/>", nullptr, Reason::kOpenclMissing},
    {"opencl_cpu", "<opencl/><min_opencl_version>200</min_opencl_version>",
     [](HostFacts& h) {
         HostFacts::OpenclCpu c;
         c.props.present = true;
         c.props.device_version_int = 200;
         h.opencl_cpus = {c};
     },
     Reason::kFeasible},
    {"amd", "<gpu_type>amd</gpu_type>", amd, Reason::kFeasible},
    {"ati", "<gpu_type>ati</gpu_type><min_gpu_ram_mb>1024</min_gpu_ram_mb>", amd, Reason::kFeasible},
    {"amd_libs", "<gpu_type>amd</gpu_type><need_amd_libs/>", amd, Reason::kGpuDriver},
    {"ati_libs", "<gpu_type>amd</gpu_type><need_ati_libs/>", amd, Reason::kFeasible},
    {"without_opencl", "<gpu_type>amd</gpu_type><without_opencl/>", amd, Reason::kPlanClassRefused},
    {"cal_target", "<gpu_type>amd</gpu_type><min_cal_target>16</min_cal_target>", amd, Reason::kGpuCapability},
    {"cal_target_max", "<gpu_type>amd</gpu_type><max_cal_target>14</max_cal_target>", amd, Reason::kGpuCapability},
    {"amd_driver", "<gpu_type>amd</gpu_type><min_driver_version>10041721</min_driver_version>", amd, Reason::kGpuDriver},
    {"apple", "<gpu_type>apple</gpu_type><min_metal_support>2</min_metal_support>", apple, Reason::kFeasible},
    {"apple_metal", "<gpu_type>apple</gpu_type><min_metal_support>3</min_metal_support>", apple, Reason::kGpuCapability},
    {"other", "<gpu_type>Mali-G78</gpu_type>", other_gpu, Reason::kFeasible},
    {"other_missing", "<gpu_type>Mali-G99</gpu_type>", other_gpu, Reason::kGpuMissing},
    {"other_regex", "<gpu_type_regex>^Mali</gpu_type_regex>", other_gpu, Reason::kFeasible},
};
// clang-format on
INSTANTIATE_TEST_SUITE_P(Tags, SpecTag, testing::ValuesIn(kTags), [](const auto& i) { return i.param.name; });

TEST_F(PlanClass, CpuUsage) {
    auto use =
        spec("<max_threads>3</max_threads><nthreads_cmdline/><projected_flops_scale>2</projected_flops_scale>").usage;
    EXPECT_DOUBLE_EQ(use.avg_ncpus, 3);
    EXPECT_DOUBLE_EQ(use.peak_flops, 3e9);
    EXPECT_DOUBLE_EQ(use.projected_flops, 6e9);
    EXPECT_EQ(use.cmdline, " --nthreads 3");
    EXPECT_DOUBLE_EQ(spec("<max_threads>64</max_threads>").usage.avg_ncpus, 4) << "no more than the host may use";
    EXPECT_DOUBLE_EQ(spec("<avg_ncpus>1.5</avg_ncpus>").usage.avg_ncpus, 1.5);
}

TEST_F(PlanClass, ThreadsAreLimitedByMemory) {
    w.host.usable_ram = 3500 * kMega;
    const auto use = spec(
                         "<max_threads>4</max_threads><mem_usage_base_mb>500</mem_usage_base_mb>"
                         "<mem_usage_per_cpu_mb>1000</mem_usage_per_cpu_mb>")
                         .usage;
    EXPECT_DOUBLE_EQ(use.avg_ncpus, 3);
    EXPECT_DOUBLE_EQ(use.mem_usage, 3500 * kMega);
    EXPECT_EQ(use.cmdline, " --memory_size_mb 3500");
    w.host.usable_ram = 1400 * kMega;
    EXPECT_EQ(spec("<max_threads>4</max_threads><mem_usage_base_mb>500</mem_usage_base_mb>"
                   "<mem_usage_per_cpu_mb>1000</mem_usage_per_cpu_mb>")
                  .verdict.reason,
              Reason::kMemory);
}

TEST_F(PlanClass, CpuAndGpuTakeTurns) {
    w.host = a_host().nvidia(1, 1e11);
    const auto use =
        spec("<gpu_type>nvidia</gpu_type><cpu_frac>.5</cpu_frac><gpu_peak_flops_scale>.1</gpu_peak_flops_scale>").usage;
    // f = 1e9, g = 1e10, half of the work on each: f g / (.5 g + .5 f)
    EXPECT_NEAR(use.projected_flops, 1e19 / 5.5e9, 1);
    EXPECT_NEAR(use.avg_ncpus, .5e10 / 5.5e9, 1e-9);
    EXPECT_NEAR(use.peak_flops, 1e10 + use.avg_ncpus * 1e9, 1);
    EXPECT_EQ(use.proc_type, ProcType::kNvidia);
    EXPECT_DOUBLE_EQ(use.gpu_usage, 1);
}

// batch_planner asks without a host: a GPU is then ten times a processor.
TEST_F(PlanClass, AJobsGpuUseNeedsNoHost) {
    w.host = a_host().nvidia(1, 1e10);
    for (const char* tags :
         {"", "<cpu_frac>.5</cpu_frac>", "<ngpus>.5</ngpus>", "<ngpus>2</ngpus><avg_ncpus>.25</avg_ncpus>",
          "<cpu_frac>.01</cpu_frac><gpu_peak_flops_scale>.2</gpu_peak_flops_scale>"}) {
        const auto on_host = spec(std::string("<gpu_type>nvidia</gpu_type>") + tags).usage;
        const GpuUse use = w.plan_classes.gpu_use("c", w.params.compat_level);
        EXPECT_NEAR(use.cpus, on_host.avg_ncpus, 1e-9) << tags;
        EXPECT_DOUBLE_EQ(use.devices, on_host.gpu_usage) << tags;
        EXPECT_NEAR(use.devices * use.peak_scale * 1e10 + use.cpus * 1e9, on_host.peak_flops, 1) << tags;
    }
}

TEST_F(PlanClass, DevicesByPreferenceAndByMemory) {
    w.host = a_host().nvidia();
    w.user.project_prefs = "<gpu_part>0.25</gpu_part>";
    EXPECT_DOUBLE_EQ(
        spec("<gpu_type>nvidia</gpu_type><ngpus>2</ngpus><gpu_utilization_tag>gpu_part</gpu_utilization_tag>")
            .usage.gpu_usage,
        0.5);
    w.params.compat_level = 1;
    EXPECT_DOUBLE_EQ(
        spec("<gpu_type>nvidia</gpu_type><ngpus>-1</ngpus><gpu_ram_used_mb>2000</gpu_ram_used_mb>").usage.gpu_usage,
        0.25)
        << "four jobs of 2000 MB in 8 GB";
    w.params.compat_level = 0;
    EXPECT_NEAR(
        spec("<gpu_type>nvidia</gpu_type><ngpus>-1</ngpus><gpu_ram_used_mb>2000</gpu_ram_used_mb>").usage.gpu_usage,
        8000.0 / 8192, 1e-9)
        << "upstream's formula";
}

TEST_F(PlanClass, AnotherKindOfGpuIsNamedInUsage) {
    other_gpu(w.host);
    EXPECT_EQ(spec("<gpu_type_regex>Mali</gpu_type_regex>").usage.custom_coproc_type, "Mali-G78");
    apple(w.host);
    EXPECT_EQ(spec("<gpu_type>apple</gpu_type>").usage.proc_type, ProcType::kAppleGpu);
}

TEST_F(PlanClass, ImplausiblePeakSpeedIsReplaced) {
    w.host = a_host().nvidia(1, 1e20);
    EXPECT_LT(spec("<gpu_type>nvidia</gpu_type>").usage.peak_flops, 2e11);
}

TEST_F(PlanClass, BenchmarkIsKeptWithinWhatHostsDo) {
    w.host.row.p_fpops = 1e15;
    EXPECT_DOUBLE_EQ(spec("").usage.peak_flops, 1.1e12);
    w.host.row.p_fpops = -1;
    EXPECT_DOUBLE_EQ(spec("").usage.peak_flops, 1e9);
}

// A window of workunits or batches holds for the job it is asked about, not for the app.
TEST_F(PlanClass, WindowsAreAskedPerJob) {
    w.plan_classes = PlanClasses::from_spec(
        "<plan_classes><plan_class><name>c</name><min_wu_id>1002</min_wu_id><max_wu_id>1003</max_wu_id>"
        "<min_batch>0</min_batch><max_batch>7</max_batch></plan_class></plan_classes>",
        "spec");
    w.tables.versions[0].plan_class = "c";
    for (int i = 1; i <= 4; ++i) w.pool.add(a_job(i));
    w.pool.add(a_job(5).workunit(1003).batch(8));
    w.want(ProcType::kCpu, 1e9, 9);
    const auto sent = w.sent();
    EXPECT_EQ(std::set<Id>(sent.begin(), sent.end()), (std::set<Id>{2, 3}));
    EXPECT_EQ(w.trace.of(1)->fate, Reason::kCustomHook);
    EXPECT_EQ(w.trace.of(5)->verdict.required, 7);
}

TEST_F(PlanClass, BuiltInClasses) {
    EXPECT_DOUBLE_EQ(built_in("mt").usage.avg_ncpus, 4);
    EXPECT_EQ(built_in("mt").usage.cmdline, "--nthreads 4");
    EXPECT_DOUBLE_EQ(built_in("mt").usage.projected_flops, 0.99 * 4e9);
    EXPECT_DOUBLE_EQ(built_in("sse3").usage.projected_flops, 1.1e9);
    EXPECT_DOUBLE_EQ(built_in("nci").usage.peak_flops, 1e7) << "a hundredth of a CPU";
    EXPECT_EQ(built_in("opencl_cpu_intel").verdict.reason, Reason::kOpenclMissing);
    EXPECT_EQ(built_in("cuda_fermi").verdict.reason, Reason::kGpuMissing);
    EXPECT_EQ(built_in("wsl").verdict.reason, Reason::kPlanClassRefused);
    EXPECT_EQ(built_in("foo").verdict.reason, Reason::kPlanClassRefused);
    w.host.row.p_ncpus = w.host.usable_cpus = 1;
    EXPECT_EQ(built_in("mt").verdict.reason, Reason::kCpuCount);
    w.host.cpu_features = " sse ";
    EXPECT_EQ(built_in("sse3").verdict.reason, Reason::kCpuFeature);
}

TEST_F(PlanClass, BuiltInGpuClasses) {
    w.host = a_host().nvidia();
    EXPECT_FALSE(built_in("cuda_fermi").verdict.refused());
    EXPECT_FALSE(built_in("opencl_nvidia_101").verdict.refused());
    EXPECT_EQ(built_in("opencl_nvidia_301").verdict.reason, Reason::kOpenclMissing);
    EXPECT_EQ(built_in("cuda").verdict.reason, Reason::kGpuCapability) << "upstream's class ends below 2.0";
    w.params.compat_level = 1;
    EXPECT_FALSE(built_in("cuda").verdict.refused()) << "level 1 knows the cards of today";
    w.host.coprocs[0].driver_version = 17000;
    EXPECT_EQ(built_in("cuda").verdict.reason, Reason::kGpuDriver);
    w.host.coprocs[0].driver_version = 55000;
    w.host.coprocs[0].available_ram = 100 * kMega;
    EXPECT_EQ(built_in("cuda").verdict.reason, Reason::kGpuMemory);
    amd(w.host);
    w.host.coprocs[0].available_ram = 1e9, w.host.coprocs[0].have_cal = false;
    EXPECT_FALSE(built_in("ati14").verdict.refused()) << "CAL's version counts, not its presence";
    EXPECT_EQ(built_in("ati13amd").verdict.reason, Reason::kGpuDriver) << "needs the AMD libraries";
    EXPECT_FALSE(built_in("opencl_ati_101").verdict.refused());
    w.params.compat_level = 0;
    EXPECT_TRUE(built_in("opencl_ati_101").verdict.refused()) << "upstream can't reach it by its name";
}

TEST_F(PlanClass, BuiltInVirtualBox) {
    vbox(w.host);
    EXPECT_FALSE(built_in("vbox64").verdict.refused());
    EXPECT_TRUE(built_in("vbox").verdict.refused()) << "32-bit VM on a 64-bit host";
    EXPECT_DOUBLE_EQ(built_in("vbox64_mt").usage.avg_ncpus, 4);
    w.host.vm_extensions_disabled = true;
    EXPECT_EQ(built_in("vbox64").verdict.reason, Reason::kCpuFeature);
    w.host.virtualbox_version = "3.1.9";
    EXPECT_EQ(built_in("vbox64").verdict.reason, Reason::kVirtualBox);
}

// A refused GPU class is a refusal in the GPU pass, with its cause, not "resource not wanted".
TEST_F(PlanClass, CauseIsToldInPassOfGpu) {
    w.host = a_host().nvidia();
    w.host.coprocs[0].driver_version = 100;
    w.tables.versions[0].plan_class = "cuda_fermi";
    w.want(ProcType::kCpu, 0).want(ProcType::kNvidia, 100, 1);
    EXPECT_EQ(w.why(a_job()), Reason::kGpuDriver);
}

}  // namespace
}  // namespace sluice::test
