// SPDX-License-Identifier: LGPL-3.0-or-later
// Jobs whose XML a column that is too small has cut: the feeder gives their places to others, and says so.
#include <gmock/gmock.h>

#include <set>

#include "tests/db/feeder/feeder_fixture.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;

TEST(UnwritableJobs, AreSkippedAndNamedUntilMended) {
    FeederProject p(PrivateMariaDb::shared(), "", 5);
    p.add_jobs(1, 20, 9), p.add_jobs(100, 10);
    p.execute("update workunit set xml_doc = left(xml_doc, 200) where id <= 10");
    p.execute("update result set xml_doc_in = '<result>' where id between 11 and 19");
    p.execute("update result set xml_doc_in = null where id = 20");
    p.execute(
        "insert into app_version (create_time, appid, version_num, platformid, xml_doc, min_core_version, max_core_version, deprecated, "
        "plan_class) values (0, 1, 117, 1, rpad('<app_version>', 65535, 'x'), 0, 0, 0, '')");
    auto feeder = p.start();
    ASSERT_TRUE(p.wait_ready()) << feeder.err();
    EXPECT_TRUE(eventually([&] { return p.jobs() == std::vector<Id>{100, 101, 102, 103, 104}; })) << feeder.err();
    EXPECT_TRUE(eventually([&] { return feeder.err().find("20 unsent jobs are left out") != std::string::npos; }))
        << feeder.err();
    EXPECT_THAT(feeder.err(), HasSubstr("[WU#1] workunit.xml_doc: it ends without </workunit> (200 bytes)"));
    EXPECT_THAT(feeder.err(), HasSubstr("app one, version 117): it ends without </app_version> (65535 bytes)"));
    p.execute("update workunit set xml_doc = '<workunit>\\n</workunit>' where id <= 10");
    p.execute("update result set xml_doc_in = '<result>\\n</result>' where id <= 20");
    p.dir.write("reread_db", "");
    Consumer consumer(p);
    std::set<Id> taken;
    EXPECT_TRUE(eventually([&] {
        for (const Id id : consumer.take(5)) taken.insert(id);
        return taken.size() == 30;
    })) << taken.size();
}

}  // namespace
}  // namespace sluice::test
