// What create_work makes of what the database's columns can't hold.
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

TEST_F(WorkChain, JobsNeedColumnsThatOlderReleasesLackOnlyForWhatStandsInThem) {
    stage("f1");
    db_.execute(Sql("ALTER TABLE workunit DROP COLUMN keywords"));
    const auto create = [&](std::vector<std::string> more) {
        std::vector<std::string> words{"create_work", "--appname", "a"};
        words.insert(words.end(), more.begin(), more.end());
        words.emplace_back("f1");
        return run_program(words);
    };
    const auto plain = create({"--wu_name", "plain"});
    EXPECT_EQ(plain.status, 0) << plain.err;
    const auto refused = create({"--wu_name", "words", "--keywords", "2 3"});
    EXPECT_EQ(refused.status, 1);
    EXPECT_NE(refused.err.find("keywords of jobs can't be stored"), std::string::npos) << refused.err;
    EXPECT_EQ(count("name='plain'"), 1);
    EXPECT_EQ(count("1"), 1) << "no job without its keywords";
    const auto at = refused.err.find("ALTER TABLE"), end = refused.err.find(';', at);
    ASSERT_NE(end, std::string::npos) << refused.err;
    EXPECT_EQ(refused.err.substr(at, end - at),
              "ALTER TABLE workunit ADD COLUMN keywords varchar(254) NOT NULL DEFAULT ''");
    db_.execute(Sql("ALTER TABLE workunit ADD COLUMN keywords varchar(254) NOT NULL DEFAULT ''"));
    EXPECT_EQ(create({"--wu_name", "words", "--keywords", "2 3"}).status, 0);
    EXPECT_EQ(count("keywords='2 3'"), 1);
}

}  // namespace
}  // namespace sluice::test
