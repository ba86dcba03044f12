// SPDX-License-Identifier: LGPL-3.0-or-later
// census as a program on a real MariaDB. The classes are upstream's: 128 times the system (Linux 2, Windows 3,
// Darwin 4) plus the processor's code.
#include "feeder/starvation.h"
#include "tests/db/size/size_world.h"

namespace sluice::test {
namespace {

class HrCensus : public SizePrograms {
  protected:
    void host(Id id, const std::string& os, const std::string& vendor, const std::string& model, double credit) {
        Host h;
        h.id = id, h.os_name = os, h.p_vendor = vendor, h.p_model = model, h.expavg_credit = credit;
        rows_.hosts[id] = h;
    }
};

TEST_F(HrCensus, SumsCreditByClassInUpstreamsFile) {
    host(1, "Linux Ubuntu", "GenuineIntel", "Intel(R) Core(TM) i7", 100.25);
    host(2, "Linux Debian", "GenuineIntel", "Intel(R) Core(TM) i5", 50);
    host(3, "Microsoft Windows 10", "AuthenticAMD", "AMD Opteron(tm) 6380", 7);
    host(4, "Darwin", "Power Macintosh", "Power Macintosh [PowerMac3,6]", 3);
    host(5, "Linux", "GenuineIntel", "Intel(R) Core(TM) i5", 1);  // not at work lately
    host(6, "BeOS", "GenuineIntel", "Pentium", 1000);             // no class
    store();
    const auto r = run_program({"census"});
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_NE(r.err.find("5 hosts with recent credit, 1 of them of no known HR class"), std::string::npos) << r.err;
    std::string wanted;
    for (const bool fine : {true, false}) {
        wanted += fine ? "--------- fine ----------\n" : "--------- coarse ----------\n";
        for (int c = 0; c < 896; ++c) {
            const int linux_intel = fine ? 277 : 258, windows_amd = fine ? 392 : 386, mac = 516;
            const char* sum = c == linux_intel   ? "150.250000"
                              : c == windows_amd ? "7.000000"
                              : c == mac         ? "3.000000"
                                                 : "0.000000";
            wanted += std::to_string(c) + " " + sum + "\n";
        }
    }
    const std::string text = read_file(project_ / "hr_info.txt").value_or("");
    EXPECT_EQ(text, wanted);
    EXPECT_EQ(parse_hr_info(text, "hr_info.txt")[1][277], 150.25);
}

// The scheduler goes by the client's platforms, which no column holds: at level 1 by those of the versions sent.
TEST_F(HrCensus, PlatformsTellAndroidFromLinuxAtLevelOne) {
    rows_.platforms[7].id = 7, rows_.platforms[7].name = "aarch64-android-linux-gnu";
    rows_.versions[70].id = 70, rows_.versions[70].platformid = 7;
    host(1, "Linux", "ARM", "AArch64 Processor rev 4 (aarch64)", 10);  // a phone
    host(2, "Linux", "ARM", "AArch64 Processor rev 4 (aarch64)", 20);  // a board that has been sent nothing yet
    for (const Id version : {70, 1000002}) {
        HostAppVersion v;
        v.host_id = 1, v.app_version_id = version;
        rows_.host_app_versions[{1, version}] = v;
    }
    store();
    const auto credit = [&](int level, int hr_class) {
        write_config(level);
        const auto r = run_program({"census"});
        EXPECT_EQ(r.status, 0) << r.err;
        return parse_hr_info(read_file(project_ / "hr_info.txt").value_or(""), "hr_info.txt")[2].at(
            static_cast<std::size_t>(hr_class));
    };
    constexpr int kLinuxArm = 2 * 128 + 22, kAndroidArm = 6 * 128 + 22;
    EXPECT_EQ(credit(0, kLinuxArm), 30);
    EXPECT_EQ(credit(1, kLinuxArm), 20);
    EXPECT_EQ(credit(1, kAndroidArm), 10);
}

TEST_F(HrCensus, WithoutHostsClassesAreEmpty) {
    ASSERT_EQ(run_program({"census"}).status, 0);
    const std::string zeros = read_file(project_ / "hr_info.txt").value_or("");
    EXPECT_NO_THROW(parse_hr_info(zeros, "hr_info.txt"));
    project_.write("config.xml",
                   "<boinc><config><db_name>size</db_name><db_user>nobody_here</db_user><db_passwd>x</db_passwd>"
                   "<db_host>localhost</db_host></config></boinc>");
    project_.write("hr_info.txt", "as it was");
    EXPECT_NE(run_program({"census"}).status, 0);
    EXPECT_EQ(read_file(project_ / "hr_info.txt"), "as it was");
}

// As upstream's: a task that is run by hand or by cron during maintenance writes nothing.
TEST_F(HrCensus, WhileDaemonsAreStoppedItWritesNothing) {
    project_.write("stop_daemons", "");
    const auto r = run_program({"census"});
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_NE(r.err.find("stop_daemons is present"), std::string::npos) << r.err;
    EXPECT_FALSE(fs::exists(project_ / "hr_info.txt"));
}

}  // namespace
}  // namespace sluice::test
