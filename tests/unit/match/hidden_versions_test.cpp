// SPDX-License-Identifier: LGPL-3.0-or-later
// App versions that nobody gets, though they are there: not whole, or of a class whose name hides its GPU.
#include <fmt/format.h>

#include "sluice/match/policies.h"
#include "tests/support/match_world.h"

namespace sluice::test {
namespace {

TEST(HiddenVersion, ACutOneIsForNobody) {
    MatchWorld w;
    w.tables.versions.push_back(a_version(12, 1, "mt"));
    w.tables.versions[1].xml_doc = "<app_version>\n<file_ref>";  // a column that is too small cut it
    w.pool.add(a_job());
    const MatchResult sent = w.match();
    ASSERT_EQ(sent.jobs.size(), 1u);
    EXPECT_EQ(sent.jobs[0].version.app_version_id, 11);
    w.tables.versions[0].xml_doc.clear();
    MatchWorld none;
    none.tables = w.tables;
    EXPECT_EQ(none.why(a_job()), Reason::kVersionDocument);
}

TEST(HiddenVersion, Level0AClassHidingItsGpuIsNamed) {
    MatchWorld w;
    w.plan_classes = PlanClasses::from_spec(
        "<plan_classes><plan_class><name>fastgpu</name><gpu_type>nvidia</gpu_type></plan_class></plan_classes>", "f");
    w.host = a_host().nvidia();
    w.tables.versions[0].plan_class = "fastgpu";
    w.want(ProcType::kNvidia, 1000);
    w.pool.add(a_job());
    for (const double cpu_seconds : {1.0, 0.0}) {
        w.want(ProcType::kCpu, cpu_seconds);
        w.params.compat_level = 0;
        const MatchResult none = w.match();
        EXPECT_TRUE(none.jobs.empty());
        EXPECT_EQ(binding_order(none.stats).front(), Reason::kPlanClassName) << cpu_seconds;
    }
    w.params.compat_level = 1;
    const MatchResult sent = w.match();
    ASSERT_EQ(sent.jobs.size(), 1u);
    EXPECT_EQ(sent.jobs[0].version.usage.proc_type, ProcType::kNvidia);
}

TEST(HiddenVersion, Level1ARegexTypeIsForThatGpu) {
    for (const char* tag : {"<gpu_type>NVIDIA</gpu_type>", "<gpu_type_regex>NVIDIA|CUDA</gpu_type_regex>"}) {
        MatchWorld w;
        w.plan_classes = PlanClasses::from_spec(
            fmt::format("<plan_classes><plan_class><name>fast</name>{}</plan_class></plan_classes>", tag), "f");
        w.host = a_host().nvidia();
        w.params.compat_level = 1;
        w.tables.versions[0].plan_class = "fast";
        w.pool.add(a_job());
        EXPECT_TRUE(w.match().jobs.empty()) << "a request for the CPU alone: " << tag;
        w.want(ProcType::kCpu, 0);
        w.want(ProcType::kNvidia, 1000);
        const MatchResult sent = w.match();
        ASSERT_EQ(sent.jobs.size(), 1u) << tag;
        EXPECT_EQ(sent.jobs[0].version.usage.proc_type, ProcType::kNvidia);
    }
}

TEST(HiddenVersion, ARegexOfSeveralGpusIsForEach) {
    MatchWorld w;
    w.plan_classes = PlanClasses::from_spec(
        "<plan_classes><plan_class><name>any</name><gpu_type_regex>NVIDIA|ATI</gpu_type_regex></plan_class></plan_classes>",
        "f");
    w.params.compat_level = 1;
    w.tables.versions[0].plan_class = "any";
    w.want(ProcType::kCpu, 0);
    for (const ProcType type : {ProcType::kNvidia, ProcType::kAmd}) {
        w.pool.add(a_job());
        w.host = a_host().nvidia();
        w.host.coprocs[0].proc_type = type;
        w.host.coprocs[0].type = type == ProcType::kNvidia ? "NVIDIA" : "ATI";
        w.want(ProcType::kNvidia, type == ProcType::kNvidia ? 1000 : 0);
        w.want(ProcType::kAmd, type == ProcType::kAmd ? 1000 : 0);
        const MatchResult sent = w.match();
        ASSERT_EQ(sent.jobs.size(), 1u);
        EXPECT_EQ(sent.jobs[0].version.usage.proc_type, type);
    }
}

}  // namespace
}  // namespace sluice::test
