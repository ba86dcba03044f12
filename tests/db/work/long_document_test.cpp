// How long a workunit's XML may be is what its column holds.
#include "tests/db/work/work_chain.h"

namespace sluice::test {
namespace {

TEST_F(WorkChain, ATooLongDocumentIsRefusedUntilItsColumnHasRoom) {
    stage("f1");
    const std::string words(70000, 'w');
    const auto create = [&] { return run_program({"create_work", "--appname", "a", "--command_line", words, "f1"}); };
    const auto refused = create();
    EXPECT_EQ(refused.status, 1);
    EXPECT_NE(refused.err.find("workunit.xml_doc, a blob of at most 65535 bytes"), std::string::npos) << refused.err;
    EXPECT_NE(refused.err.find("ALTER TABLE workunit MODIFY xml_doc mediumblob;"), std::string::npos) << refused.err;
    EXPECT_EQ(count("1"), 0);
    db_.execute(Sql("ALTER TABLE workunit MODIFY xml_doc mediumtext"));
    EXPECT_EQ(create().status, 0);
    EXPECT_EQ(count("LENGTH(xml_doc)>70000 AND xml_doc LIKE '%</workunit>_'"), 1);
    db_.execute(Sql("DELETE FROM workunit"));
    db_.execute(Sql("ALTER TABLE workunit MODIFY xml_doc blob"));
}

}  // namespace
}  // namespace sluice::test
