// SPDX-License-Identifier: LGPL-3.0-or-later
// HR classes from vendor, model and system; the simulated queue.
#include "sched/match/edf.h"
#include "sched/match/host_versions.h"
#include "tests/support/match_world.h"

namespace sluice::test {
namespace {

struct HrCase {
    const char* name;
    const char* os;
    const char* vendor;
    const char* model;
    int fine0, coarse0, fine1, coarse1;
};
void PrintTo(const HrCase& c, std::ostream* out) { *out << c.name; }
class HrClass : public testing::TestWithParam<HrCase> {};

TEST_P(HrClass, IsUpstreamsAndAtLevel1Ours) {
    Host h;
    h.os_name = GetParam().os;
    h.p_vendor = GetParam().vendor;
    h.p_model = GetParam().model;
    EXPECT_EQ(hr_class(h, HrType::kFine, 0), GetParam().fine0);
    EXPECT_EQ(hr_class(h, HrType::kCoarse, 0), GetParam().coarse0);
    EXPECT_EQ(hr_class(h, HrType::kFine, 1), GetParam().fine1);
    EXPECT_EQ(hr_class(h, HrType::kCoarse, 1), GetParam().coarse1);
    EXPECT_EQ(hr_class(h, HrType::kNone, 0), 0);
}

// Some Android clients say "Linux"; their processors' vendors are many.
TEST(HrClass, Level1AndroidIsToldByItsPlatform) {
    const std::vector<std::string> phone{"aarch64-android-linux-gnu", "arm-android-linux-gnu"},
        tablet{"x86_64-android-linux-gnu"}, board{"aarch64-unknown-linux-gnu"}, desktop{"x86_64-pc-linux-gnu"};
    Host h;
    h.os_name = "Linux";
    h.p_vendor = "Qualcomm";
    h.p_model = "Kryo";
    for (const auto& platforms : {phone, board, desktop})
        EXPECT_EQ(hr_class(h, HrType::kCoarse, 0, platforms), 257) << "upstream's: one class for all of them";
    EXPECT_EQ(hr_class(h, HrType::kCoarse, 1, phone), 6 * 128 + 22);
    EXPECT_EQ(hr_class(h, HrType::kCoarse, 1, board), 2 * 128 + 22);
    EXPECT_EQ(hr_class(h, HrType::kCoarse, 1, desktop), 257);
    h.p_vendor = "GenuineIntel";
    h.p_model = "Intel(R) Atom(TM)";
    EXPECT_EQ(hr_class(h, HrType::kCoarse, 0, tablet), hr_class(h, HrType::kCoarse, 0, desktop));
    EXPECT_EQ(hr_class(h, HrType::kCoarse, 1, tablet), 6 * 128 + 2);
    EXPECT_EQ(hr_class(h, HrType::kCoarse, 1, desktop), 258);
    EXPECT_EQ(hr_class(h, HrType::kFine, 1, tablet), 6 * 128 + 2);
}

// Upstream's feeder sets the weight of every app to 1 then.
TEST(HrOfTheProject, LeavesNoAppHardAtLevel0) {
    MatchWorld w;
    w.app(1).weight = -1;
    w.host.row.total_credit = 0;
    w.pool.add(a_job(1).delay_bound(4000));
    w.params.homogeneous_redundancy = static_cast<int>(HrType::kCoarse);
    w.params.compat_level = 1;
    EXPECT_TRUE(w.sent().empty());
    w.params.compat_level = 0;
    EXPECT_EQ(w.sent(), std::vector<Id>{1});
    w.pool.slots[0].state = SlotState::kPresent;
    w.params.homogeneous_redundancy = 0;
    w.app(1).homogeneous_redundancy = HrType::kCoarse;
    EXPECT_TRUE(w.sent().empty()) << "an app's own HR leaves weights alone";
}

const HrCase kHr[] = {
    {"linux_core", "Linux Ubuntu", "GenuineIntel", "Intel(R) Core(TM) i7-9700", 277, 258, 277, 258},
    {"linux_xeon", "Linux", "GenuineIntel", "Intel(R) Xeon(R) CPU", 267, 258, 267, 258},
    {"linux_ryzen", "Linux", "AuthenticAMD", "AMD Ryzen 7", 259, 258, 259, 258},
    {"windows_ryzen", "Microsoft Windows 11", "AuthenticAMD", "AMD Ryzen 7", 387, 386, 387, 386},
    {"windows_celeron_m", "Windows XP", "GenuineIntel", "Intel Celeron M processor", 402, 386, 402, 386},
    {"windows_celeron", "Windows XP", "GenuineIntel", "Intel Celeron", 396, 386, 396, 386},
    {"pentium_3", "Windows", "GenuineIntel", "Pentium III", 399, 386, 399, 386},
    {"pentium_2", "Windows", "GenuineIntel", "Pentium II", 398, 386, 398, 386},
    {"pentium_4", "Windows", "GenuineIntel", "Pentium 4 CPU", 400, 386, 400, 386},
    {"pentium_d", "Windows", "GenuineIntel", "Pentium D CPU", 401, 386, 401, 386},
    {"pentium_plain", "Windows", "GenuineIntel", "Pentium CPU", 397, 386, 397, 386},
    {"intel_family", "Windows", "GenuineIntel", "x86 Family 6 Model 158", 397, 386, 397, 386},
    {"intel_p4_family", "Windows", "GenuineIntel", "x86 Family 15 Model 2", 400, 386, 400, 386},
    {"intel_unknown", "Windows", "GenuineIntel", "mystery", 386, 386, 386, 386},
    {"athlon_xp", "Linux", "AuthenticAMD", "Athlon XP", 266, 258, 266, 258},
    {"athlon_mp", "Linux", "AuthenticAMD", "Athlon MP", 275, 258, 275, 258},
    {"athlon_64", "Linux", "AuthenticAMD", "Athlon 64", 265, 258, 265, 258},
    {"athlon", "Linux", "AuthenticAMD", "Athlon", 261, 258, 261, 258},
    {"duron", "Linux", "AuthenticAMD", "Duron", 262, 258, 262, 258},
    {"sempron", "Linux", "AuthenticAMD", "Sempron", 263, 258, 263, 258},
    {"opteron", "Linux", "AuthenticAMD", "Opteron", 264, 258, 264, 258},
    {"turion", "Linux", "AuthenticAMD", "Turion", 276, 258, 276, 258},
    {"mac_intel", "Darwin", "GenuineIntel", "Intel Core", 533, 514, 533, 514},
    {"mac_ppc", "Darwin", "Power Macintosh", "Power Macintosh", 516, 516, 516, 516},
    {"mac_m1", "Mac OS X 13.5.2 (Darwin 22.6.0)", "Apple", "Apple M1", 0, 0, 535, 535},
    {"linux_arm", "Linux", "ARM", "ARMv7", 278, 278, 278, 278},
    {"linux_arm_by_model", "Linux", "", "ARMv7 Processor", 0, 278, 0, 278},
    {"linux_unknown_cpu", "Linux", "", "", 0, 257, 0, 257},
    {"freebsd", "FreeBSD", "GenuineIntel", "Intel Core", 661, 0, 661, 642},
    {"android", "Android", "ARM", "ARMv8", 790, 0, 790, 790},
    {"android_linux", "Linux Android", "ARM", "ARMv8", 278, 278, 790, 790},
    {"no_system", "Haiku", "GenuineIntel", "Intel Core", 0, 0, 0, 0},
};
INSTANTIATE_TEST_SUITE_P(Hosts, HrClass, testing::ValuesIn(kHr), [](const auto& i) { return i.param.name; });

using match::EdfSimulation;
using match::SimJob;

EdfSimulation queue(int cpus, std::initializer_list<SimJob> jobs, bool exact = true, int gpus = 0) {
    EdfSimulation sim({cpus, gpus, 0, 0, 0}, exact);
    for (const SimJob& j : jobs) sim.add(j);
    sim.settle();
    return sim;
}

TEST(Edf, AnEmptyQueueTakesWhatFits) {
    const EdfSimulation sim = queue(1, {});
    EXPECT_TRUE(sim.try_job({100, 100, 1, ProcType::kCpu, 0}).feasible);
    const auto late = sim.try_job({100, 101, 1, ProcType::kCpu, 0});
    EXPECT_FALSE(late.feasible);
    EXPECT_FALSE(late.others);
    EXPECT_DOUBLE_EQ(late.lateness, 1);
}

TEST(Edf, EarlierDeadlinesGoFirst) {
    const EdfSimulation sim = queue(1, {{50, 40, 1, ProcType::kCpu, 0}});
    EXPECT_TRUE(sim.try_job({100, 60, 1, ProcType::kCpu, 0}).feasible);
    EXPECT_FALSE(sim.try_job({99, 60, 1, ProcType::kCpu, 0}).feasible);
}

TEST(Edf, AJobInTimeMayNotBecomeLate) {
    const EdfSimulation sim = queue(1, {{100, 60, 1, ProcType::kCpu, 0}});
    const auto answer = sim.try_job({50, 50, 1, ProcType::kCpu, 0});
    EXPECT_FALSE(answer.feasible);
    EXPECT_TRUE(answer.others);
    EXPECT_DOUBLE_EQ(answer.lateness, 10);
}

TEST(Edf, ALateJobMayNotBecomeLater) {
    const EdfSimulation sim = queue(1, {{10, 60, 1, ProcType::kCpu, 0}});
    EXPECT_FALSE(sim.try_job({5, 1, 1, ProcType::kCpu, 0}).feasible);
    EXPECT_TRUE(sim.try_job({100, 40, 1, ProcType::kCpu, 0}).feasible) << "behind it, it does no harm";
}

TEST(Edf, SeveralProcessors) {
    const EdfSimulation sim = queue(2, {{100, 100, 1, ProcType::kCpu, 0}});
    EXPECT_TRUE(sim.try_job({100, 100, 1, ProcType::kCpu, 0}).feasible);
    EXPECT_FALSE(sim.try_job({100, 100, 2, ProcType::kCpu, 0}).feasible) << "needs both";
    EXPECT_TRUE(sim.try_job({200, 100, 2, ProcType::kCpu, 0}).feasible);
}

TEST(Edf, GpuJobsRunOnGpus) {
    const EdfSimulation sim = queue(1, {{100, 100, 1, ProcType::kCpu, 0}}, true, 1);
    EXPECT_TRUE(sim.try_job({100, 100, 1, ProcType::kNvidia, 0}).feasible);
    EXPECT_FALSE(
        queue(1, {{100, 100, 1, ProcType::kCpu, 0}}, false, 1).try_job({100, 100, 1, ProcType::kNvidia, 0}).feasible)
        << "upstream simulates everything on CPUs";
}

TEST(Edf, TwoJobsShareGpuAtHalfDeviceEach) {
    const EdfSimulation sim = queue(1, {{100, 100, 0.5, ProcType::kNvidia, 0}}, true, 1);
    EXPECT_TRUE(sim.try_job({100, 100, 0.5, ProcType::kNvidia, 0}).feasible);
    EXPECT_FALSE(sim.try_job({100, 100, 0.75, ProcType::kNvidia, 0}).feasible);
}

TEST(HostVersions, FromFreeText) {
    using namespace match;
    EXPECT_EQ(os_version_number("Mac OS X 13.5.2 (Darwin 22.6.0)", "22.6.0"), 220600);
    EXPECT_EQ(os_version_number("Microsoft Windows 11", "Professional x64 Edition, (10.00.22621.00)"), 1e9 + 2262100);
    EXPECT_EQ(os_version_number("Linux Ubuntu", "Ubuntu 22.04.3 LTS [5.15.0-88-generic|libc 2.35]"), 51500);
    EXPECT_EQ(os_version_number("Linux", "3.13.0-103-generic"), 31300);
    EXPECT_EQ(os_version_number("Android", "4.14.190-user (Android 12)"), 41590);
    EXPECT_EQ(os_version_number("Haiku", "1.2.3"), 0);
    EXPECT_EQ(os_version_number("Linux", "nonsense"), 0);
    EXPECT_EQ(libc_version_number("Ubuntu 22.04.3 LTS [5.15.0-88-generic|libc 2.35]"), 235);
    EXPECT_EQ(libc_version_number("Ubuntu"), 0);
    EXPECT_EQ(android_version_number("4.14.190-user (Android 12)"), 120000);
    EXPECT_EQ(android_version_number("3.0.31 (Android 4.3.1)"), 40301);
    EXPECT_EQ(android_version_number("3.0.31"), 0);
}

// The margin is that of the crude rule (upstream).
TEST(Deadline, TheSimulationGivesHardAppsNoMargin) {
    MatchWorld w;
    w.params.workload_sim = true;
    w.wanted.estimated_delay[0] = 1;
    w.app(1).weight = -1;
    w.host = a_host().cpus(1).workload_known();
    w.pool.add(a_job(1).flops(4e12).delay_bound(5000));  // 4000 s, 5200 with the margin
    EXPECT_EQ(w.sent(), std::vector<Id>{1});
    w.pool.slots[0].state = SlotState::kPresent;
    w.params.workload_sim = false;
    EXPECT_TRUE(w.sent().empty());
}

}  // namespace
}  // namespace sluice::test
