// SPDX-License-Identifier: LGPL-3.0-or-later
// <host_info>, <time_stats>, <net_stats>, <disk_usage>.
#include <cmath>

#include "tests/unit/rpc/parsed.h"

namespace sluice::test {
namespace {

SchedulerRequest host_with(const std::string& body) { return parsed(element("host_info", body)); }

TEST(HostInfo, EveryElement) {
    const SchedulerRequest r = host_with(
        "<timezone>-25200</timezone><domain_name>box</domain_name><ip_addr>10.0.0.1</ip_addr>"
        "<host_cpid>0123</host_cpid><p_ncpus>16</p_ncpus><p_vendor>AuthenticAMD</p_vendor>"
        "<p_model>AMD Ryzen &amp; co [Family 25 Model 33]</p_model><p_fpops>4.5e9</p_fpops><p_iops>1.5e10</p_iops>"
        "<p_membw>1e9</p_membw><m_nbytes>34276982784.000000</m_nbytes><m_cache>1048576</m_cache>"
        "<m_swap>2147483648</m_swap><d_total>5e11</d_total><d_free>2e11</d_free><os_name>Microsoft Windows 11</os_name>"
        "<os_version>Pro x64</os_version><product_name>Pixel 7</product_name><n_bwup>1000</n_bwup><n_bwdown>2000</n_bwdown>"
        "<virtualbox_version>7.0.14</virtualbox_version><docker_version>25.0</docker_version>"
        "<docker_compose_version>2.4</docker_compose_version><docker_type>2</docker_type>"
        "<docker_compose_type>1</docker_compose_type><p_vm_extensions_disabled>1</p_vm_extensions_disabled>");
    EXPECT_TRUE(r.has_host_info);
    EXPECT_EQ(r.host.timezone, -25200);
    EXPECT_EQ(r.host.domain_name, "box");
    EXPECT_EQ(r.host.last_ip_addr, "10.0.0.1");
    EXPECT_EQ(r.host.host_cpid, "0123");
    EXPECT_EQ(r.host.p_ncpus, 16);
    EXPECT_EQ(r.host.p_vendor, "AuthenticAMD");
    EXPECT_EQ(r.host.p_model, "AMD Ryzen & co [Family 25 Model 33]");
    EXPECT_EQ(r.host.p_fpops, 4.5e9);
    EXPECT_EQ(r.host.p_iops, 1.5e10);
    EXPECT_EQ(r.host.p_membw, 1e9);
    EXPECT_EQ(r.host.m_nbytes, 34276982784.0);
    EXPECT_EQ(r.host.m_cache, 1048576);
    EXPECT_EQ(r.host.m_swap, 2147483648.0);
    EXPECT_EQ(r.host.d_total, 5e11);
    EXPECT_EQ(r.host.d_free, 2e11);
    EXPECT_EQ(r.host.os_name, "Microsoft Windows 11");
    EXPECT_EQ(r.host.os_version, "Pro x64");
    EXPECT_EQ(r.host.product_name, "Pixel 7");
    EXPECT_EQ(r.host.n_bwup, 1000);
    EXPECT_EQ(r.host.n_bwdown, 2000);
    EXPECT_EQ(r.virtualbox_version, "7.0.14");
    EXPECT_EQ(r.docker_version, "25.0");
    EXPECT_EQ(r.docker_type, 2);
    EXPECT_TRUE(r.vm_extensions_disabled);
    EXPECT_TRUE(r.unknown_tags.empty());
}

TEST(HostInfo, AbsentBlockIsKnownToBeAbsent) {
    const SchedulerRequest r = parsed("<hostid>3</hostid><time_stats><on_frac>1</on_frac></time_stats>");
    EXPECT_FALSE(r.has_host_info);
    EXPECT_TRUE(r.has_time_stats);
}

TEST(HostInfo, CpusAreAtLeastOne) {
    EXPECT_EQ(host_with("").host.p_ncpus, 1);
    EXPECT_EQ(host_with("<p_ncpus>0</p_ncpus>").host.p_ncpus, 1);
    EXPECT_EQ(host_with("<p_ncpus>-8</p_ncpus>").host.p_ncpus, 1);
    EXPECT_EQ(host_with("<p_ncpus>99999999999</p_ncpus>").host.p_ncpus, 2147483647);
}

TEST(HostInfo, TextsFitTheirColumns) {
    for (const char* tag : {"domain_name", "p_vendor", "p_model", "os_name", "os_version", "product_name", "ip_addr"}) {
        const SchedulerRequest r = host_with(element(tag, std::string(1000, 'x')));
        const std::string all = r.host.domain_name + r.host.p_vendor + r.host.p_model + r.host.os_name +
                                r.host.os_version + r.host.product_name + r.host.last_ip_addr;
        EXPECT_EQ(all, std::string(254, 'x')) << tag;
    }
    EXPECT_EQ(host_with(element("host_cpid", std::string(255, 'x'))).host.host_cpid, "") << "an id is not cut";
}

// A NaN in the SQL text made upstream's whole UPDATE of the host fail.
TEST(HostInfo, NoNumberIsNanOrInfinite) {
    const SchedulerRequest r = parsed(
        "<host_info><p_fpops>nan</p_fpops><p_iops>inf</p_iops><m_nbytes>-inf</m_nbytes><d_free>1e308</d_free></host_info>"
        "<time_stats><on_frac>nan</on_frac><active_frac>inf</active_frac><gpu_active_frac>-nan</gpu_active_frac>"
        "<connected_frac>nan</connected_frac><now>inf</now></time_stats>"
        "<net_stats><bwup>nan</bwup><bwdown>inf</bwdown></net_stats>"
        "<disk_usage><d_project_share>nan</d_project_share></disk_usage>");
    for (const double x :
         {r.host.p_fpops, r.host.p_iops, r.host.m_nbytes, r.host.on_frac, r.host.active_frac, r.host.gpu_active_frac,
          r.host.connected_frac, r.host.n_bwup, r.host.n_bwdown, r.host.d_boinc_max, r.client_now})
        EXPECT_EQ(x, 0);
    EXPECT_TRUE(std::isfinite(r.host.d_free * 1000));
}

TEST(HostInfo, FeaturesInOneForm) {
    EXPECT_EQ(host_with("<p_features>FPU SSE sse2</p_features>").cpu_features, " fpu sse sse2 ");
    EXPECT_EQ(host_with("<p_model>Intel [fpu sse]</p_model>").cpu_features, "  fpu sse ") << "clients before 6.x";
    EXPECT_EQ(host_with("<p_features>avx</p_features><p_model>I7 [Family 6 Model 2]</p_model>").cpu_features,
              " avx family 6 model 2 ");
    EXPECT_EQ(host_with("<p_model>I7</p_model>").cpu_features, "");
    EXPECT_EQ(host_with("<p_model>I7 [</p_model>").cpu_features, "");
    EXPECT_LE(host_with(element("p_features", std::string(100000, 'f'))).cpu_features.size(), 8200u);
}

TEST(HostInfo, OpenclCpus) {
    const std::string one =
        "<opencl_cpu_prop><platform_vendor>Intel(R) Corporation</platform_vendor><opencl_cpu_info><name>i7</name>"
        "<opencl_device_version>OpenCL 2.1 (Build 0)</opencl_device_version><global_mem_size>1000</global_mem_size>"
        "</opencl_cpu_info></opencl_cpu_prop>";
    const SchedulerRequest r = host_with(one + "<opencl_cpu_prop><x/></opencl_cpu_prop><p_ncpus>2</p_ncpus>");
    ASSERT_EQ(r.opencl_cpus.size(), 1u) << "a block without vendor is none";
    EXPECT_EQ(r.opencl_cpus[0].platform_vendor, "Intel(R) Corporation");
    EXPECT_EQ(r.opencl_cpus[0].props.name, "i7");
    EXPECT_EQ(r.opencl_cpus[0].props.device_version_int, 201);
    EXPECT_EQ(r.host.p_ncpus, 2);
    std::string many;
    for (int i = 0; i < 100; ++i) many += one;
    EXPECT_EQ(host_with(many).opencl_cpus.size(), 8u) << "upstream overflows an array of 4";
}

TEST(HostInfo, Wsl) {
    const SchedulerRequest r = host_with(
        "<wsl><distro><distro_name>boinc-buda-runner</distro_name><distro_version>4</distro_version>"
        "<os_name>Debian</os_name><os_version>12</os_version><libc_version>2.36</libc_version><is_default/>"
        "<wsl_version>2</wsl_version><docker_version>5.4</docker_version><docker_type>2</docker_type>"
        "<wsl_gpu><name>RTX</name><has_cuda>1</has_cuda><has_opencl>0</has_opencl></wsl_gpu><wsl_gpu><has_cuda/></wsl_gpu>"
        "</distro><distro><distro_name>Ubuntu</distro_name><disallowed>1</disallowed></distro></wsl>");
    EXPECT_TRUE(r.wsl_available);
    ASSERT_EQ(r.wsl.size(), 2u);
    const WslDistro& d = r.wsl[0];
    EXPECT_EQ(d.name, "boinc-buda-runner");
    EXPECT_EQ(d.distro_version, 4);
    EXPECT_EQ(d.libc_version, "2.36");
    EXPECT_FALSE(d.disallowed);
    EXPECT_EQ(d.docker_version, "5.4");
    EXPECT_EQ(d.docker_type, 2);
    ASSERT_EQ(d.gpus.size(), 1u);
    EXPECT_TRUE(d.gpus[0].name == "RTX" && d.gpus[0].has_cuda && !d.gpus[0].has_opencl);
    EXPECT_TRUE(r.wsl[1].disallowed);
    std::string many;
    for (int i = 0; i < 100; ++i) many += "<distro><distro_name>" + std::string(1000, 'd') + "</distro_name></distro>";
    const SchedulerRequest big = host_with(element("wsl", many));
    EXPECT_EQ(big.wsl.size(), 32u);
    EXPECT_EQ(big.wsl[0].name.size(), 255u) << "upstream: strings up to 256 KiB into a buffer of 1 KiB";
}

TEST(TimeStats, EveryElement) {
    const SchedulerRequest r = parsed(
        "<time_stats><on_frac>0.998</on_frac><connected_frac>-1</connected_frac><active_frac>0.985</active_frac>"
        "<gpu_active_frac>0.95</gpu_active_frac><now>1795226772.781506</now><cpu_efficiency>0.9</cpu_efficiency>"
        "<total_duration>9</total_duration><last_update>1</last_update></time_stats><hostid>3</hostid>");
    EXPECT_EQ(r.host.on_frac, 0.998);
    EXPECT_EQ(r.host.connected_frac, -1);
    EXPECT_EQ(r.host.active_frac, 0.985);
    EXPECT_EQ(r.host.gpu_active_frac, 0.95);
    EXPECT_EQ(r.client_now, 1795226772.781506);
    EXPECT_EQ(r.host.cpu_efficiency, 0) << "the column has another use now";
    EXPECT_EQ(r.hostid, 3);
    EXPECT_TRUE(r.unknown_tags.empty());
}

TEST(NetStats, OverwriteTheLegacyPlace) {
    const SchedulerRequest r = parsed(
        "<host_info><n_bwup>1</n_bwup><n_bwdown>2</n_bwdown></host_info>"
        "<net_stats><bwup>10</bwup><avg_up>7</avg_up><bwdown>20</bwdown></net_stats>");
    EXPECT_EQ(r.host.n_bwup, 10);
    EXPECT_EQ(r.host.n_bwdown, 20);
}

TEST(DiskUsage, EveryElement) {
    const SchedulerRequest r = parsed(
        "<disk_usage><d_boinc_used_total>10</d_boinc_used_total><d_boinc_used_project>5</d_boinc_used_project>"
        "<d_project_share>7.5</d_project_share></disk_usage>");
    EXPECT_TRUE(r.has_disk_usage);
    EXPECT_EQ(r.host.d_boinc_used_total, 10);
    EXPECT_EQ(r.host.d_boinc_used_project, 5);
    EXPECT_EQ(r.host.d_boinc_max, 7.5);
}

}  // namespace
}  // namespace sluice::test
