// SPDX-License-Identifier: LGPL-3.0-or-later
// <coprocs> of every vendor, the speed fallbacks, and what upstream's arrays could not take.
#include "sched/rpc/gpu_speed.h"
#include "tests/unit/rpc/parsed.h"

namespace sluice::test {
namespace {

std::vector<Coproc> coprocs_of(const std::string& body) { return parsed(element("coprocs", body)).coprocs; }

const char kOpencl[] =
    "<coproc_opencl><name>Dev</name><vendor>Vend</vendor><available>1</available><half_fp_config>3</half_fp_config>"
    "<single_fp_config>191</single_fp_config><double_fp_config>63</double_fp_config>"
    "<extensions>cl_khr_fp64 cl_khr_icd</extensions><global_mem_size>8361017344</global_mem_size>"
    "<local_mem_size>49152</local_mem_size><max_clock_frequency>1000</max_clock_frequency>"
    "<max_compute_units>8</max_compute_units><opencl_platform_version>OpenCL 3.0 X</opencl_platform_version>"
    "<opencl_device_version>OpenCL 1.2 AMD-APP (923.1) (rev 923.10)</opencl_device_version>"
    "<opencl_driver_version>535.54.03</opencl_driver_version></coproc_opencl>";

TEST(Coprocs, Nvidia) {
    const auto all = coprocs_of(
        std::string("<coproc_cuda><count>2</count><name>NVIDIA GeForce RTX 3070</name>"
                    "<available_ram>7600000000</available_ram><have_cuda>1</have_cuda><have_opencl>1</have_opencl>"
                    "<req_secs>100.5</req_secs><req_instances>1.5</req_instances><estimated_delay>12</estimated_delay>"
                    "<peak_flops>2.1e13</peak_flops><cudaVersion>12020</cudaVersion><drvVersion>53554</drvVersion>"
                    "<totalGlobalMem>8361017344</totalGlobalMem><maxThreadsDim>1024 1024 64</maxThreadsDim>"
                    "<clockRate>1815000</clockRate><major>8</major><minor>6</minor>"
                    "<multiProcessorCount>46</multiProcessorCount><pci_info><bus_id>1</bus_id></pci_info>") +
        kOpencl + "</coproc_cuda>");
    ASSERT_EQ(all.size(), 1u);
    const Coproc& c = all[0];
    EXPECT_EQ(c.type, "NVIDIA");
    EXPECT_EQ(c.proc_type, ProcType::kNvidia);
    EXPECT_EQ(c.model, "NVIDIA GeForce RTX 3070");
    EXPECT_EQ(c.count, 2);
    EXPECT_EQ(c.available_ram, 7.6e9);
    EXPECT_EQ(c.total_ram, 8361017344.0);
    EXPECT_EQ(c.req_secs, 100.5);
    EXPECT_EQ(c.req_instances, 1.5);
    EXPECT_EQ(c.estimated_delay, 12);
    EXPECT_EQ(c.peak_flops, 2.1e13);
    EXPECT_TRUE(c.have_cuda);
    EXPECT_EQ(c.cuda_version, 12020);
    EXPECT_EQ(c.driver_version, 53554);
    EXPECT_EQ(c.compute_capability, 806);
    EXPECT_TRUE(c.opencl.present);
    EXPECT_EQ(c.opencl.name + c.opencl.vendor, "DevVend");
    EXPECT_EQ(c.opencl.double_fp_config, 63);
    EXPECT_EQ(c.opencl.global_mem_size, 8361017344.0);
    EXPECT_EQ(c.opencl.device_version_int, 102);
    EXPECT_EQ(c.opencl.driver_revision, 92310);
    EXPECT_EQ(c.opencl.driver_version, "535.54.03");
}

TEST(Coprocs, Amd) {
    const auto all = coprocs_of(
        std::string(
            "<coproc_ati><count>1</count><name>Cypress</name><have_cal>1</have_cal><CALVersion>1.4.1720</CALVersion>"
            "<target>8</target><localRAM>1024</localRAM><engineClock>850</engineClock>"
            "<wavefrontSize>64</wavefrontSize><numberOfSIMD>18</numberOfSIMD><doublePrecision>1</doublePrecision>"
            "<atirt_detected/><amdrt_detected>1</amdrt_detected>") +
        "</coproc_ati>");
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].type, "ATI");
    EXPECT_EQ(all[0].proc_type, ProcType::kAmd);
    EXPECT_TRUE(all[0].have_cal && all[0].atirt_detected && all[0].amdrt_detected && all[0].double_precision);
    EXPECT_EQ(all[0].cal_version, 10041720);
    EXPECT_EQ(all[0].cal_target, 8);
    EXPECT_EQ(all[0].total_ram, 1024.0 * 1024 * 1024) << "upstream knows it from OpenCL only";
    EXPECT_EQ(all[0].available_ram, all[0].total_ram);
    EXPECT_EQ(all[0].peak_flops, 18 * 64 * 5 * 850e6);
}

TEST(Coprocs, IntelAppleGeneric) {
    const auto all = coprocs_of(
        std::string("<coproc_intel_gpu><count>1</count><name>ignored?</name>") + kOpencl + "</coproc_intel_gpu>" +
        "<coproc_apple_gpu><count>1</count><model>Apple M1</model><have_metal>1</have_metal><ncores>8</ncores>"
        "<metal_support>5001</metal_support><available_ram>5</available_ram></coproc_apple_gpu>"
        "<coproc><type>miner_asic</type><count>3</count><device_nums>0 1 2</device_nums><non_gpu/></coproc>"
        "<coproc><type>fpga</type><count>1</count><peak_flops>7</peak_flops></coproc>"
        "<coproc><count>1</count></coproc>");
    ASSERT_EQ(all.size(), 4u) << "a generic one needs a type";
    EXPECT_EQ(all[0].type, "intel_gpu");
    EXPECT_EQ(all[0].proc_type, ProcType::kIntelGpu);
    EXPECT_EQ(all[0].peak_flops, 8 * 8 * 1000e6);
    EXPECT_EQ(all[0].available_ram, 8361017344.0);
    EXPECT_EQ(all[1].type, "apple_gpu");
    EXPECT_EQ(all[1].proc_type, ProcType::kAppleGpu);
    EXPECT_EQ(all[1].model, "Apple M1");
    EXPECT_EQ(all[1].metal_support, 5001);
    EXPECT_EQ(all[1].peak_flops, 1e11);
    EXPECT_EQ(all[1].available_ram, 5);
    EXPECT_EQ(all[2].type, "miner_asic");
    EXPECT_EQ(all[2].proc_type, ProcType::kCpu);
    EXPECT_EQ(all[2].count, 3);
    EXPECT_EQ(all[2].peak_flops, 0) << "unknown, and the reply says so";
    EXPECT_EQ(all[3].peak_flops, 7);
}

TEST(Coprocs, CountsFromHostileClients) {
    EXPECT_TRUE(coprocs_of("<coproc_cuda><count>0</count></coproc_cuda>").empty());
    EXPECT_TRUE(coprocs_of("<coproc_cuda><name>x</name></coproc_cuda>").empty());
    EXPECT_TRUE(coprocs_of("<coproc_cuda><count>-3</count></coproc_cuda>").empty());
    const auto huge = coprocs_of("<coproc><type>x</type><count>2147483647</count></coproc>");
    ASSERT_EQ(huge.size(), 1u);
    EXPECT_EQ(huge[0].count, 64);
    std::string many;
    for (int i = 0; i < 200; ++i) many += "<coproc><type>t" + std::to_string(i) + "</type><count>1</count></coproc>";
    const SchedulerRequest r = parsed(element("coprocs", many));
    EXPECT_EQ(r.coprocs.size(), 32u) << "upstream overflows an array of 8";
}

TEST(Coprocs, ASecondBlockReplacesTheFirst) {
    const auto all = coprocs_of(
        "<coproc_cuda><count>1</count><name>a</name></coproc_cuda><coproc_cuda><count>2</count><name>b</name></coproc_cuda>");
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].model, "b");
    EXPECT_EQ(all[0].count, 2);
}

TEST(Coprocs, RequestsAreClamped) {
    const auto all = coprocs_of(
        "<coproc_cuda><count>1</count><req_secs>1e9</req_secs><req_instances>-1</req_instances></coproc_cuda>"
        "<coproc_ati><count>1</count><req_secs>nan</req_secs><req_instances>1e9</req_instances></coproc_ati>");
    ASSERT_EQ(all.size(), 2u);
    EXPECT_EQ(all[0].req_secs, 28 * 86400);
    EXPECT_EQ(all[0].req_instances, 0);
    EXPECT_EQ(all[1].req_secs, 0);
    EXPECT_EQ(all[1].req_instances, 4096);
}

// A block without delay waits as long as the CPU, wherever that element stands.
TEST(Coprocs, DelayDefaultsToTheCpus) {
    const std::string block =
        "<coprocs><coproc_cuda><count>1</count></coproc_cuda><coproc_ati><count>1</count>"
        "<estimated_delay>3</estimated_delay></coproc_ati></coprocs>";
    for (const std::string& body :
         {element("estimated_delay", "40") + block, block + element("estimated_delay", "40")}) {
        const SchedulerRequest r = parsed(body);
        EXPECT_EQ(r.coprocs.at(0).estimated_delay, 40);
        EXPECT_EQ(r.coprocs.at(1).estimated_delay, 3);
    }
}

TEST(Coprocs, ClientsBefore7DoNotSayWhatTheyHave) {
    const auto all = coprocs_of(
        "<coproc_cuda><count>1</count><cudaVersion>3020</cudaVersion></coproc_cuda>"
        "<coproc_ati><count>1</count><CALVersion>1.4.635</CALVersion></coproc_ati>");
    EXPECT_TRUE(all.at(0).have_cuda);
    EXPECT_TRUE(all.at(1).have_cal);
    const auto not_said =
        coprocs_of(std::string("<coproc_cuda><count>1</count><have_cuda>0</have_cuda><have_opencl>0</have_opencl>"
                               "<cudaVersion>3020</cudaVersion>") +
                   kOpencl + "</coproc_cuda>");
    EXPECT_FALSE(not_said.at(0).have_cuda);
    EXPECT_FALSE(not_said.at(0).opencl.present);
    EXPECT_TRUE(coprocs_of("<coproc_cuda><count>1</count><have_cuda/></coproc_cuda>").at(0).have_cuda);
}

TEST(Coprocs, HostileVersionTexts) {
    for (const char* version : {"", "OpenCL", "OpenCL ", "OpenCL 99999999999999999999.5", "OpenCL -1.-2", "OpenCL 1",
                                "(rev", "OpenCL 1.2 (rev 1e999)", "OpenCL 1.2 (rev nan)", "OpenCL 1.1 (rev -3)"}) {
        const auto all =
            coprocs_of("<coproc_intel_gpu><count>1</count><coproc_opencl><opencl_device_version>" +
                       std::string(version) + "</opencl_device_version></coproc_opencl></coproc_intel_gpu>");
        EXPECT_GE(all.at(0).opencl.device_version_int, 0) << version;
        EXPECT_LE(all.at(0).opencl.device_version_int, 100 * 999 + 999) << version;
        EXPECT_EQ(all.at(0).opencl.driver_revision, 0) << version;
    }
    const auto cal =
        coprocs_of("<coproc_ati><count>1</count><CALVersion>999999.999999.999999</CALVersion></coproc_ati>");
    EXPECT_GT(cal.at(0).cal_version, 0);
}

TEST(GpuSpeed, NvidiaByComputeCapability) {
    const struct {
        int major, minor;
        double cores, flops;
    } cases[] = {{1, 0, 8, 3},   {1, 3, 8, 3},   {2, 0, 32, 2},  {2, 1, 48, 2},  {3, 0, 192, 2}, {3, 5, 192, 2},
                 {5, 0, 128, 2}, {5, 2, 128, 2}, {6, 0, 64, 2},  {6, 1, 128, 2}, {7, 0, 64, 2},  {7, 5, 64, 2},
                 {8, 0, 64, 2},  {8, 6, 128, 2}, {9, 0, 128, 2}, {12, 0, 128, 2}};
    for (const auto& c : cases) {
        EXPECT_EQ(rpc::nvidia_peak_flops({c.major, c.minor, 1500000, 10}, {}),
                  1000 * 1500000.0 * 10 * c.cores * c.flops)
            << c.major << "." << c.minor;
    }
    rpc::OpenclSpeed opencl;
    opencl.compute_units = 46;
    opencl.clock_mhz = 1815;
    opencl.nv_major = 8;
    opencl.nv_minor = 6;
    EXPECT_EQ(rpc::nvidia_peak_flops({}, opencl), 46 * 128 * 2 * 1815e6);
    EXPECT_GT(rpc::nvidia_peak_flops({}, {}), 0);
    EXPECT_GT(rpc::nvidia_peak_flops({8, 6, 1e18, 1e18}, {}), 0);
    EXPECT_GT(rpc::nvidia_peak_flops({-1, -1, -5, -5}, {}), 0);
}

TEST(GpuSpeed, Amd) {
    rpc::OpenclSpeed o;
    o.compute_units = 36;
    o.clock_mhz = 1266;
    EXPECT_EQ(rpc::amd_peak_flops({18, 64, 850}, o), 18 * 64 * 5 * 850e6);
    EXPECT_EQ(rpc::amd_peak_flops({}, o), 36 * 16 * 5 * 1266e6);
    o.amd_simd_per_unit = 4;
    o.amd_simd_width = 16;
    o.amd_instruction_width = 1;
    EXPECT_EQ(rpc::amd_peak_flops({}, o), 36.0 * 4 * 16 * 1 * 2 * 1266e6);
    EXPECT_GT(rpc::amd_peak_flops({}, {}), 0);
    EXPECT_GT(rpc::intel_peak_flops({}), 0);
    EXPECT_EQ(rpc::apple_peak_flops({}), 1e11);
}

}  // namespace
}  // namespace sluice::test
