// SPDX-License-Identifier: LGPL-3.0-or-later
// From a captured GPU request to the <app_version> that upstream sent: the plan class sees the parsed host, and what it
// says of usage arrives in the reply.
#include <gtest/gtest.h>

#include "sched/match/plan_class_gpu.h"
#include "sched/match/plan_class_spec.h"
#include "sched/rpc/documents.h"
#include "tests/support/captures.h"
#include "tests/support/match_world.h"
#include "tests/unit/rpc/parsed.h"

namespace sluice::test {
namespace {

TEST(CapturedGpu, UsageAndMemoryAsUpstreamSentThem) {
    const struct {
        const char* capture_name;
        const char* plan_class;
        const char* elements;
    } cases[] = {
        {"20_linux_nvidia_gpu_work", "opencl_nvidia_101",
         "    <coproc>\n        <type>NVIDIA</type>\n        <count>1.000000</count>\n"
         "    </coproc>\n    <gpu_ram>268435456.000000</gpu_ram>\n"},
    };
    for (const auto& c : cases) {
        SCOPED_TRACE(c.capture_name);
        const auto request = parse_request(capture(std::string(c.capture_name) + ".request"), {}).request;
        ASSERT_TRUE(request);
        MatchWorld world;
        world.host.row = request->host;
        world.host.coprocs = request->coprocs;
        world.host.client_version = request->client_version();
        world.tables.perf = HostPerfInfo{};  // fewer than 10 hosts had credit
        const PlanClassSpec* spec = world.plan_classes.find(c.plan_class, 0);
        ASSERT_TRUE(spec);
        ReplyJob job;
        AppVersion version;
        version.xml_doc = "<app_version>\n</app_version>\n";
        job.app_version = &version;
        const MatchContext context = world.context();
        std::optional<match::GpuNeed> need;
        ASSERT_FALSE(match::gpu_usage(context, *spec, job.version.usage, need).refused());
        const std::string text = rpc::app_version_document(job, request->client_version()).value_or("");
        EXPECT_NE(text.find(c.elements), std::string::npos) << text;
        const std::string reply = capture(std::string(c.capture_name) + ".reply");
        const auto begin = text.find("    <avg_ncpus>"), end = text.find("</avg_ncpus>");
        EXPECT_NE(reply.find(text.substr(begin, end - begin)), std::string::npos) << text;
    }
}

}  // namespace
}  // namespace sluice::test
