// SPDX-License-Identifier: LGPL-3.0-or-later
// Where <jobs_without_batch> refuses jobs without a batch, the feeder leaves them out and its log names them.
#include <gmock/gmock.h>

#include "tests/db/feeder/feeder_fixture.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<Id> results_in_array(const JobArrayName& name) {
    std::vector<Id> ids;
    const auto array = JobArray::attach_read_only(name);
    JobSummary job;
    SlotRef ref;
    for (std::uint32_t slot = 0; slot < array->size(); ++slot)
        if (array->read(slot, job, ref) == SlotState::kPresent) ids.push_back(job.result_id);
    std::sort(ids.begin(), ids.end());
    return ids;
}

TEST(RefusedJobs, WithoutABatchAreLeftOutAndNamed) {
    FeederProject p(PrivateMariaDb::shared(),
                    "<share_rule>settled</share_rule><jobs_without_batch>refuse</jobs_without_batch>", 20);
    p.add_jobs(1, 6);
    p.execute("update workunit set batch = 7 where id in (3, 4)");
    p.execute("update result set batch = 7 where id in (3, 4)");
    auto feeder = p.start();
    ASSERT_TRUE(p.wait_ready()) << feeder.err();
    EXPECT_TRUE(eventually([&] { return results_in_array(p.name) == std::vector<Id>{3, 4}; }));
    EXPECT_TRUE(eventually([&] { return feeder.err().find("have no batch") != std::string::npos; })) << feeder.err();
    EXPECT_THAT(feeder.err(),
                HasSubstr("4 unsent jobs have no batch, and <jobs_without_batch> refuses them (the first: "
                          "[RESULT#1] [WU#1]): no host gets them"));
}

TEST(RefusedJobs, AreSentWhereTheyAreFreeAsBefore) {
    FeederProject p(PrivateMariaDb::shared(), "<share_rule>settled</share_rule>", 20);
    p.add_jobs(1, 6);
    auto feeder = p.start();
    ASSERT_TRUE(p.wait_ready()) << feeder.err();
    EXPECT_TRUE(eventually([&] { return results_in_array(p.name).size() == 6; }));
    EXPECT_THAT(feeder.err(), Not(HasSubstr("no batch")));
}

}  // namespace
}  // namespace sluice::test
