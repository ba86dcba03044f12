// SPDX-License-Identifier: LGPL-3.0-or-later
// What create_work makes of what the database's columns can't hold.
#include "tests/db/work/work_chain.h"

namespace sluice::test {
namespace {

TEST_F(WorkChain, TooLongADocumentIsRefused) {
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

/// The transitioner would refuse it for each job again, long after the submitter has gone.
TEST_F(WorkChain, AnUnusableOutputTemplateIsRefused) {
    stage("f1");
    const auto create = [&](const std::string& name = "w") {
        return run_program({"create_work", "--appname", "a", "--wu_name", name, "f1"});
    };
    const auto refused = [&](const std::string& text, const std::string& why) {
        project_.write("templates/a_out", text);
        const RunResult r = create();
        EXPECT_EQ(r.status, 1) << text;
        EXPECT_NE(r.err.find("templates/a_out: " + why), std::string::npos) << r.err;
        EXPECT_EQ(count("1"), 0) << "nothing is written";
    };
    for (const char* text : {"<output_template>\n<result/>\n</output_template>\n", "</result>\n<result>\n", ""})
        refused(text, "has no <result> element, written as <result>");

    std::string many = "<output_template>\n", refs;
    for (int i = 0; i < 1000; ++i) {
        const std::string out = "<OUTFILE_" + std::to_string(i) + "/>";
        many += "<file_info>\n<name>" + out + "</name>\n<max_nbytes>10</max_nbytes>\n</file_info>\n";
        refs += "<file_ref>\n<file_name>" + out + "</file_name>\n<open_name>o</open_name>\n</file_ref>\n";
    }
    many += "<result>\n" + refs + "</result>\n</output_template>\n";
    refused(many, "the XML of a result: ");
    EXPECT_NE(create().err.find("too long for the column result.xml_doc_in, a blob of at most 65535 bytes"),
              std::string::npos);
    db_.execute(Sql("ALTER TABLE result MODIFY xml_doc_in mediumblob"));
    EXPECT_EQ(create().status, 0);
    db_.execute(Sql("ALTER TABLE result MODIFY xml_doc_in blob"));
}

/// The names of output files are made of the job's: what fits one may not fit the next.
TEST_F(WorkChain, OutputTemplateIsCheckedWithLongestName) {
    stage("f1");
    std::string text = "<output_template>\n<result>\n";
    for (int i = 0; i < 600; ++i)
        text += "<file_ref>\n<file_name><OUTFILE_" + std::to_string(i) + "/></file_name>\n</file_ref>\n";
    project_.write("templates/a_out", text + "</result>\n</output_template>\n");
    const std::string lines = "--wu_name short f1\n--wu_name " + std::string(100, 'l') + " f1\n";
    const RunResult r = run_program({"create_work", "--appname", "a", "--stdin", "--continue_on_error"}, lines);
    EXPECT_NE(r.err.find("line 2: templates/a_out: the XML of a result: "), std::string::npos) << r.err;
    EXPECT_EQ(count("name='short'"), 1);
    EXPECT_EQ(count("1"), 1);
}

TEST_F(WorkChain, LackingColumnsMatterOnlyWhenUsed) {
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
