// SPDX-License-Identifier: LGPL-3.0-or-later
// The scheduler on the tables of older BOINC releases: made from ours by dropping what was added since.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/scheduler_world.h"

namespace sluice::test {
namespace {

struct Release {
    std::string name;
    std::vector<SqlLiteral> lacks;
};

class OlderSchema : public testing::TestWithParam<Release> {};

TEST_P(OlderSchema, HostsAreStoredAndServed) {
    SchedulerWorld w{"<resend_lost_results>1</resend_lost_results>"};
    w.add_jobs(8);
    for (const SqlLiteral change : GetParam().lacks) {
        Sql sql("ALTER TABLE ");
        w.db().execute(sql << change);
    }
    w.start_feeder();
    RequestText request = asking(0, 1e5);
    request.more =
        "<coprocs><coproc_cuda><count>2</count><name>G</name><peak_flops>1e12</peak_flops></coproc_cuda></coprocs>";
    const ReplyText first = w.send(request);
    const Id host = w.number(Sql("SELECT COALESCE(MAX(id),0) FROM host"));
    ASSERT_GT(host, 0) << first.text() << w.log();
    EXPECT_EQ(first.value("hostid"), std::to_string(host));
    EXPECT_FALSE(first.result_names().empty()) << first.text() << w.log();

    RequestText again = request;
    again.hostid = host, again.seqno = 2, again.reported = first.result_names();
    const ReplyText second = w.send(again);
    for (const std::string& name : again.reported)
        EXPECT_TRUE(second.has("<name>" + name + "</name>")) << second.text();
    EXPECT_EQ(w.number(Sql("SELECT COUNT(*) FROM result WHERE server_state=5")),
              static_cast<std::int64_t>(again.reported.size()));
    EXPECT_EQ(w.number(Sql("SELECT rpc_seqno FROM host")), 2) << w.log();
    EXPECT_EQ(w.number(Sql("SELECT COUNT(*) FROM host")), 1) << "the same machine once";
    EXPECT_THAT(w.log(), testing::HasSubstr("host.misc is not in the database"));
    EXPECT_THAT(w.log(), testing::HasSubstr("ALTER TABLE host ADD COLUMN misc text"));
    EXPECT_THAT(w.log(), testing::Not(testing::HasSubstr("database error")));
}

INSTANTIATE_TEST_SUITE_P(
    Each, OlderSchema,
    testing::Values(Release{"Of2025", {SqlLiteral("host DROP COLUMN misc")}},
                    Release{"Of2018",
                            {SqlLiteral("host DROP COLUMN misc"), SqlLiteral("result DROP INDEX res_batch"),
                             SqlLiteral("workunit DROP INDEX wu_batch")}},
                    Release{"Of2016",
                            {SqlLiteral("host DROP COLUMN misc, DROP COLUMN p_ngpus, DROP COLUMN p_gpu_fpops"),
                             SqlLiteral("result DROP INDEX res_batch"),
                             SqlLiteral("workunit DROP INDEX wu_batch, DROP COLUMN keywords, DROP COLUMN "
                                        "app_version_num"),
                             SqlLiteral("user DROP COLUMN login_token, DROP COLUMN login_token_time")}}),
    [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace sluice::test
