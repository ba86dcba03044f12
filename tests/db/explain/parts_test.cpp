// SPDX-License-Identifier: LGPL-3.0-or-later
// Parts of sched_explain that need neither database nor array.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "sched/explain/host_request.h"
#include "sched/explain/report.h"
#include "sched/handle/decision.h"
#include "sched/tune/made_up_hosts.h"
#include "sluice/base/rng.h"
#include "sluice/match/reasons.h"
#include "tests/support/paths.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;

std::string content(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
}

TEST(HostRequest, PlatformsOfMachines) {
    const struct {
        const char *os, *version, *vendor, *model, *first;
    } cases[] = {
        {"Microsoft Windows 11", "", "GenuineIntel", "Xeon", "windows_x86_64"},
        {"Darwin", "22.1.0", "Apple", "Apple M1", "arm64-apple-darwin"},
        {"Darwin", "22.1.0", "GenuineIntel", "Core", "x86_64-apple-darwin"},
        {"Linux Debian", "12", "AuthenticAMD", "Ryzen", "x86_64-pc-linux-gnu"},
        {"Linux Debian", "12", "ARM", "Cortex", "aarch64-unknown-linux-gnu"},
        {"Android", "13", "ARM", "Cortex", "aarch64-android-linux-gnu"},
        {"FreeBSD", "14", "GenuineIntel", "Xeon", "x86_64-pc-freebsd__64"},
    };
    for (const auto& c : cases) {
        Host h;
        h.os_name = c.os, h.os_version = c.version, h.p_vendor = c.vendor, h.p_model = c.model;
        EXPECT_EQ(platforms_of_machine(h).front(), c.first);
    }
    EXPECT_TRUE(platforms_of_machine(Host{}).empty());
}

ProcType by_name(const std::string& plan_class) { return proc_type_of_plan_class(plan_class.c_str()); }

TEST(HostRequest, HeldJobIsOnDeviceOfItsClass) {
    HostAndAccount found;
    found.host.id = 1;
    ProjectTables tables;
    tables.versions.resize(1);
    tables.versions[0].id = 7, tables.versions[0].plan_class = "fast";
    KnownResult job;
    job.name = "j", job.app_version_id = 7;
    const auto said = [&](const ResourceOf& resource) {
        return request_of_host(found, HostState{}, {job}, tables, resource, RequestedWork{}).request.app_versions.at(0);
    };
    EXPECT_EQ(said([](const std::string&) { return ProcType::kNvidia; }).coproc_type, "NVIDIA");
    EXPECT_EQ(said(by_name).coproc_type, "");
}

TEST(MadeUpHosts, HaveCardsThatProjectsPlanClassesAreFor) {
    ProjectTables tables;
    tables.platforms = {{1, "linux", "linux", false}};
    tables.apps.resize(1);
    tables.versions.resize(1);
    tables.apps[0].id = tables.versions[0].appid = tables.versions[0].platformid = 1;
    tables.versions[0].plan_class = "fast";
    const auto cards = [&](const ResourceOf& resource) {
        const auto rng = make_seeded_rng(1);
        int n = 0;
        for (const auto& [id, made] : make_up_hosts(40, tables, resource, 1'700'000'000, *rng))
            n += made.found.host.misc.find("\"nvidia\"") != std::string::npos;
        return n;
    };
    EXPECT_GT(cards([](const std::string&) { return ProcType::kNvidia; }), 5);
    EXPECT_EQ(cards(by_name), 0);
}

TEST(HostRequest, WhateverHostMiscHolds) {
    for (
        const char* misc :
        {"", "junk", "[]", "{}", R"({"client_version":7})", R"({"client_version":"x.y.z"})", R"({"gpus":7})",
         R"({"gpus":[7,{}]})",
         R"({"gpus":[{"type":"nvidia","count":"nan","ram_mb":1e300,"driver_version":-1e99,"opencl_version":[]}]})",
         R"({"vbox":{"version":7,"hw_accel":1,"hw_accel_enabled":"no"},"docker":[],"config":{"dont_use_docker":"1"}})"}) {
        HostAndAccount found;
        found.host.id = 1;
        found.host.p_ncpus = -3;
        found.host.os_name = "Linux";
        found.host.misc = misc;
        const HostRequest made = request_of_host(found, HostState{}, {}, ProjectTables{}, by_name, RequestedWork{});
        EXPECT_EQ(made.request.hostid, 1);
        EXPECT_EQ(made.request.cpu_req_instances, 1);
        for (const Coproc& c : made.request.coprocs) {
            EXPECT_EQ(c.count, 1);
            EXPECT_GE(c.driver_version, 0);
        }
    }
}

// Names of volunteers and of their machines are theirs to choose.
TEST(ReportText, VolunteersTextForgesNoLine) {
    const std::string evil = "x\nNo job would be sent: forged\r\x1b[2J\x1b]0;t\x07\xc2\x9b" + std::string(5000, 'y');
    Report report;
    Explanation& e = report.explanation;
    e.user.name = e.host.os_name = e.host.os_version = evil;
    e.facts.platforms = {evil};
    Coproc gpu;
    gpu.count = 1;
    gpu.type = gpu.model = evil;
    e.facts.coprocs = {gpu};
    e.messages = {evil};
    JudgedJob job;
    job.fate = Reason::kFeasible;
    job.app_version_id = 1;
    job.plan_class = job.platform = evil;
    e.jobs = {job};
    const std::string text = report_text(report);
    for (const char* control : {"\nNo job would be sent: forged", "\r", "\x1b", "\x07", "\xc2\x9b"})
        EXPECT_EQ(text.find(control), std::string::npos) << control;
    EXPECT_LT(text.size(), 8000u);
    EXPECT_THAT(text, HasSubstr("No job would be sent: forged")) << "it is shown";
}

TEST(Phrases, SayWhatWasMeasuredAndWhatWasNeeded) {
    EXPECT_EQ(phrase(refuse(Reason::kMemory, 1.6e9, 2e9)), "needs 2.0 GB, host allows 1.6 GB");
    EXPECT_EQ(phrase(refuse(Reason::kDeadline, 10800, 1500)), "would be done in 3.0 h, must be done in 1500 s");
    EXPECT_EQ(phrase(refuse(Reason::kInProgressLimit, 4, 4)), "has 4, limit 4");
    EXPECT_EQ(phrase(refuse(Reason::kClientTooOld, 71601, 80000)), "needs client 8.0.0, host runs 7.16.1");
    EXPECT_EQ(phrase(refuse(Reason::kResultGone, 5, 2)), "it is over");
    EXPECT_EQ(phrase(refuse(Reason::kBetaNotAllowed, 0, 1)), "");
}

TEST(SearchInfos, AreDocumented) {
    const std::string page = content(std::filesystem::path(sluice::test::source_dir()) / "docs/why_no_work.md");
    for (const SearchInfo& info : search_infos())
        EXPECT_THAT(page, HasSubstr(fmt::format("| `{}` | {} |", info.name, info.advice)));
}

TEST(Report, ShowsAJobsBatchLetAndLag) {
    ProjectTables tables;
    tables.batch_shares[7] = {3, 1.8e9};
    tables.batch_shares[8] = {4, 1.8e9 + 2.5 * 3600};
    tables.batch_shares[9] = {5, std::numeric_limits<double>::infinity()};
    Report report;
    std::vector<JudgedJob>& jobs = report.explanation.jobs;
    for (const int batch : {7, 8, 9, 0}) {
        JudgedJob& j = jobs.emplace_back();
        j.slot = static_cast<std::uint32_t>(batch);
        j.job.result_id = 100 + batch;
        j.job.batch = batch;
        j.terms = {{"share_lag", 12, 0}};
    }
    place_batches(jobs, tables);
    const std::string text = report_text(report);
    EXPECT_THAT(text, HasSubstr(", batch 7 of USER#3, LET 2027-01-15 08:00 UTC, the least\n"));
    EXPECT_THAT(text, HasSubstr(", batch 8 of USER#4, LET 2027-01-15 10:30 UTC, 2.5 h behind the least\n"));
    EXPECT_THAT(text, HasSubstr(", batch 9 of USER#5, who has no quota: after all others\n"));
    EXPECT_THAT(text, testing::Not(HasSubstr("batch 0")));
    EXPECT_THAT(report_json(report), HasSubstr("\"lag\": 9000.0"));
}

}  // namespace
}  // namespace sluice::test
