// SPDX-License-Identifier: LGPL-3.0-or-later
// Any bytes as plan_class_spec.xml: what is wrong is told in one line that names the file; a class that is taken can be
// asked about any host, and what a job would use there is finite.
#include <cmath>
#include <cstdint>

#include "sched/match/plan_class_spec.h"
#include "tests/fuzz/files/one_line.h"
#include "tests/fuzz/rpc/require.h"
#include "tests/support/match_world.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace sluice;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const PlanClasses classes = PlanClasses::from_spec(text, "plan_class_spec.xml");
    for (const std::string& line : classes.problems()) {
        fuzz::require_one_line(line, {"must be", "unknown", "bad regular expression", "<plan_class"});
        REQUIRE(line.starts_with("plan_class_spec.xml"));
    }
    std::vector<std::string> none;
    for (const auto& spec : parse_plan_classes(text, "plan_class_spec.xml", none)) {
        if (!spec) continue;
        (void)classes.find(spec->name, 1);
        (void)match::declared_type(*spec, 1);
        test::MatchWorld world;
        const match::PlanClassAnswer answer = match::evaluate_plan_class(world.context(), *spec);
        if (answer.verdict.reason != Reason::kFeasible) continue;
        REQUIRE(std::isfinite(answer.usage.avg_ncpus) && answer.usage.avg_ncpus >= 0);
        REQUIRE(!std::isnan(answer.usage.projected_flops));
    }
    return 0;
}
