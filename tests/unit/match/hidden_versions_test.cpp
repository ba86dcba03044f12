// App versions that nobody gets, though they are there: not whole, or of a class whose name hides its GPU.
#include "sluice/match/policies.h"
#include "tests/support/match_world.h"

namespace sluice::test {
namespace {

TEST(HiddenVersion, OneThatIsNotWholeIsForNobodyAndLeavesTheOthers) {
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

TEST(HiddenVersion, AtLevelZeroAClassWhoseNameHidesItsGpuIsTold) {
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

}  // namespace
}  // namespace sluice::test
