// SPDX-License-Identifier: LGPL-3.0-or-later
// plan_class_spec.xml as a file: what can't be right refuses one class and names the tag; what is unknown is told.
#include <fmt/format.h>

#include "sched/match/plan_class_spec.h"
#include "tests/support/match_world.h"

namespace sluice::test {
namespace {

struct BadFile {
    const char* name;
    const char* tags;
    const char* must_say;
};
void PrintTo(const BadFile& c, std::ostream* out) { *out << c.name; }
class BadSpec : public testing::TestWithParam<BadFile> {};

TEST_P(BadSpec, RefusesTheClassAloneAndNamesTheTag) {
    const std::string xml = "<plan_classes><plan_class><name>good</name></plan_class><plan_class><name>bad</name>" +
                            std::string(GetParam().tags) +
                            "</plan_class><plan_class><name>later</name></plan_class></plan_classes>";
    const PlanClasses c = PlanClasses::from_spec(xml, "p/plan_class_spec.xml");
    EXPECT_TRUE(c.find("good", 0));
    EXPECT_TRUE(c.find("later", 0));
    EXPECT_FALSE(c.find("bad", 0));
    ASSERT_EQ(c.problems().size(), 1u);
    EXPECT_THAT(c.problems()[0],
                testing::AllOf(testing::HasSubstr("p/plan_class_spec.xml"), testing::HasSubstr("\"bad\""),
                               testing::HasSubstr(GetParam().must_say)));
}

// A case a line.
// clang-format off
const BadFile kBad[] = {
    {"number", "<min_gpu_ram_mb>lots</min_gpu_ram_mb>", "<min_gpu_ram_mb>"},
    {"integer", "<max_threads>1.5</max_threads>", "<max_threads>"},
    {"infinite", "<cpu_frac>inf</cpu_frac>", "<cpu_frac>"},
    {"regex", "<os_regex>(</os_regex>", "<os_regex>"},
    {"threads", "<max_threads>0</max_threads>", "<max_threads>"},
    {"chance", "<infeasible_random>2</infeasible_random>", "<infeasible_random>"},
    {"fraction", "<cpu_frac>1</cpu_frac>", "<cpu_frac>"},
    {"scale", "<projected_flops_scale>0</projected_flops_scale>", "<projected_flops_scale>"},
    {"ram_fraction", "<ngpus>-1</ngpus>", "<gpu_ram_used_mb>"},
};
// clang-format on
INSTANTIATE_TEST_SUITE_P(Files, BadSpec, testing::ValuesIn(kBad), [](const auto& i) { return i.param.name; });

TEST(SpecFile, UnknownTagsAreToldAndIgnored) {
    const PlanClasses c = PlanClasses::from_spec(
        "<plan_classes><plan_class><name>c</name><min_ncpu>2</min_ncpu></plan_class></plan_classes>", "f");
    EXPECT_TRUE(c.find("c", 0));
    ASSERT_EQ(c.problems().size(), 1u);
    EXPECT_THAT(c.problems()[0], testing::HasSubstr("<min_ncpu>"));
}

TEST(SpecFile, Level1GpuTypesLevel0ClassNames) {
    struct {
        const char *name, *tags;
        ProcType by_name, by_type;
    } const cases[] = {{"fastgpu", "<gpu_type>nvidia</gpu_type>", ProcType::kCpu, ProcType::kNvidia},
                       {"opencl_intel", "<gpu_type>intel_gpu</gpu_type>", ProcType::kCpu, ProcType::kIntelGpu},
                       {"static_mt", "<max_threads>4</max_threads>", ProcType::kAmd, ProcType::kCpu},
                       {"cuda_x", "<gpu_type>nvidia</gpu_type>", ProcType::kNvidia, ProcType::kNvidia},
                       {"shout", "<gpu_type>NVIDIA</gpu_type>", ProcType::kCpu, ProcType::kNvidia},
                       {"either", "<gpu_type_regex>NVIDIA|CUDA</gpu_type_regex>", ProcType::kCpu, ProcType::kNvidia},
                       {"radeon", "<gpu_type_regex>^(ATI|AMD)</gpu_type_regex>", ProcType::kCpu, ProcType::kAmd},
                       {"plain", "", ProcType::kCpu, ProcType::kCpu}};
    for (const auto& c : cases) {
        const PlanClasses classes = PlanClasses::from_spec(
            fmt::format("<plan_classes><plan_class><name>{}</name>{}</plan_class></plan_classes>", c.name, c.tags),
            "f");
        EXPECT_EQ(classes.resource(c.name, 0), c.by_name) << c.name;
        EXPECT_EQ(classes.resource(c.name, 1), c.by_type) << c.name;
        EXPECT_EQ(classes.name_problems(0).size(), c.by_name == c.by_type ? 0u : 1u) << c.name;
        EXPECT_EQ(classes.name_problems(1).size(), 0u) << c.name;
    }
    const PlanClasses odd = PlanClasses::from_spec(
        "<plan_classes><plan_class><name>cuda_rx</name><gpu_type_regex>NVIDIA</gpu_type_regex></plan_class>"
        "<plan_class><name>typo</name><gpu_type>nvida</gpu_type></plan_class></plan_classes>",
        "f");
    EXPECT_THAT(odd.name_problem("cuda_rx", 0), testing::HasSubstr("only a <gpu_type> of nvidia"));
    EXPECT_EQ(odd.name_problem("cuda_rx", 1), "");
    EXPECT_THAT(odd.name_problem("typo", 1), testing::HasSubstr("<gpu_type>nvida</gpu_type> is none of"));
    EXPECT_EQ(PlanClasses().resource("cuda_unknown", 1), ProcType::kNvidia)
        << "no such class: its name is all there is";
}

TEST(SpecFile, FileWithoutClassesRefusesAllAndSaysSo) {
    const PlanClasses c = PlanClasses::from_spec("not xml at all", "f");
    EXPECT_FALSE(c.built_in());
    EXPECT_FALSE(c.find("mt", 0)) << "a spec file replaces the built-in classes";
    EXPECT_EQ(c.problems().size(), 1u);
}

}  // namespace
}  // namespace sluice::test
