// SPDX-License-Identifier: LGPL-3.0-or-later
// Jobs that are pinned to a version which the feeder does not keep: its log names them.
#include <gmock/gmock.h>

#include "tests/db/feeder/feeder_fixture.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(PinnedJobs, OfVersionsThatNobodyGetsAreNamed) {
    FeederProject p(PrivateMariaDb::shared(), "", 20);
    for (const char* number : {"100", "102"})
        p.execute(std::string("insert into app_version (create_time, appid, version_num, platformid, xml_doc, "
                              "min_core_version, max_core_version, deprecated, plan_class) values (0, 1, ") +
                  number + ", 1, '<app_version>\n</app_version>', 0, 0, 0, '')");
    p.add_jobs(1, 10);
    p.execute("update workunit set app_version_num = 7 where id in (3, 4)");
    p.execute("update workunit set app_version_num = 100 where id = 5");
    p.execute("update workunit set app_version_num = 102 where id = 6");
    auto feeder = p.start();
    ASSERT_TRUE(p.wait_ready()) << feeder.err();
    EXPECT_TRUE(eventually([&] { return feeder.err().find("Jobs in the array are pinned") != std::string::npos; }))
        << feeder.err();
    EXPECT_THAT(feeder.err(), HasSubstr("app one, version 7: 2 of them, the first [RESULT#3] [WU#3]"));
    EXPECT_THAT(feeder.err(), HasSubstr("app one, version 100: 1 of them"));
    EXPECT_THAT(feeder.err(), HasSubstr("bin/app_settings APP min_version=VERSION"));
    EXPECT_THAT(feeder.err(), Not(HasSubstr("version 102")));
}

}  // namespace
}  // namespace sluice::test
