// SPDX-License-Identifier: LGPL-3.0-or-later
// Input templates: BOINC's documented elements, and the text conventions that clients and the scheduler rely on.
#include "daemons/work/input_template.h"

#include <gtest/gtest.h>

#include "sluice/base/error.h"
#include "sluice/model/job.h"

namespace sluice {
namespace {

/// As find_staged(): it looks for FILE.gz only if it is asked for.
StagedFile staged(const std::string& name, bool gzip) {
    return {name, "http://h/download/1f/" + name, "0123456789abcdef0123456789abcdef", 34,
            gzip && name == "zipped" ? 20u : 0u};
}

Workunit expand(const std::string& text, std::vector<JobFile> files, std::string command_line = "") {
    Workunit wu;
    wu.rsc_fpops_est = 5;
    InputTemplate("app_in", text).apply({std::move(files), std::move(command_line), ""}, staged, wu);
    return wu;
}
JobFile file(const std::string& name) { return {name, false, "", "", 0}; }

TEST(InputTemplate, OneFileGivesTheDocumentClientsKnow) {
    const auto wu = expand(
        "<file_info><number>0</number></file_info><workunit><file_ref><file_number>0</file_number>"
        "<open_name>in</open_name><copy_file/></file_ref></workunit>",
        {file("f1")});
    EXPECT_EQ(wu.xml_doc,
              "<file_info>\n    <name>f1</name>\n    <url>http://h/download/1f/f1</url>\n"
              "    <md5_cksum>0123456789abcdef0123456789abcdef</md5_cksum>\n    <nbytes>34</nbytes>\n</file_info>\n"
              "<workunit>\n<file_ref>\n    <file_name>f1</file_name>\n    <open_name>in</open_name>\n"
              "    <copy_file/>\n</file_ref>\n</workunit>\n");
}

TEST(InputTemplate, OneServesManyJobs) {
    const InputTemplate parsed(
        "app_in",
        "<file_info><sticky/></file_info><workunit><file_ref><open_name>in</open_name></file_ref>"
        "<min_quorum>2</min_quorum></workunit>");
    Workunit first, second, first_again;
    parsed.apply({{file("f1")}, "-a", ""}, staged, first);
    parsed.apply({{file("f2")}, "", ""}, staged, second);
    parsed.apply({{file("f1")}, "-a", ""}, staged, first_again);
    EXPECT_EQ(first.xml_doc, first_again.xml_doc);
    EXPECT_NE(second.xml_doc.find("<name>f2</name>"), std::string::npos) << second.xml_doc;
    EXPECT_EQ(second.xml_doc.find("f1"), std::string::npos) << second.xml_doc;
    EXPECT_EQ(second.xml_doc.find("-a"), std::string::npos) << second.xml_doc;
    EXPECT_EQ(second.min_quorum, 2);
}

TEST(InputTemplate, StartTagOfWorkunitIsFollowedByNewline) {  // the scheduler inserts behind it
    EXPECT_NE(expand("<workunit></workunit>", {}).xml_doc.find("<workunit>\n"), std::string::npos);
}

TEST(InputTemplate, NumbersOfTemplateWinOverCommandLine) {
    const auto wu = expand(
        "<input_template><workunit><rsc_fpops_est>1e10</rsc_fpops_est><rsc_memory_bound>2e6</rsc_memory_bound>"
        "<delay_bound>3600</delay_bound><min_quorum>2</min_quorum><target_nresults>3</target_nresults>"
        "<max_error_results>4</max_error_results><max_total_results>9</max_total_results>"
        "<max_success_results>6</max_success_results><size_class>2</size_class><batch>7</batch></workunit></input_template>",
        {});
    EXPECT_EQ(wu.rsc_fpops_est, 1e10);
    EXPECT_EQ(wu.rsc_memory_bound, 2e6);
    EXPECT_EQ(wu.delay_bound, 3600);
    EXPECT_EQ(wu.min_quorum, 2);
    EXPECT_EQ(wu.target_nresults, 3);
    EXPECT_EQ(wu.max_error_results, 4);
    EXPECT_EQ(wu.max_total_results, 9);
    EXPECT_EQ(wu.max_success_results, 6);
    EXPECT_EQ(wu.size_class, 2);
    EXPECT_EQ(wu.batch, 7);
    EXPECT_EQ(wu.xml_doc.find("rsc_"), std::string::npos) << "they stand in columns, the scheduler adds them";
}

TEST(InputTemplate, ConstantFileIsNotTakenFromTheJob) {
    const auto wu = expand(
        "<file_info><physical_name>table</physical_name><sticky/><no_delete/></file_info><file_info></file_info>"
        "<workunit><file_ref><open_name>t</open_name></file_ref><file_ref><open_name>in</open_name></file_ref></workunit>",
        {file("job1")});
    EXPECT_NE(wu.xml_doc.find("    <sticky/>\n    <no_delete/>\n    <name>table</name>"), std::string::npos);
    EXPECT_LT(wu.xml_doc.find("<file_name>table"), wu.xml_doc.find("<file_name>job1"));
}

TEST(InputTemplate, RemoteFileOfTheJob) {
    const auto wu = expand("<file_info/><workunit><file_ref><open_name>in</open_name></file_ref></workunit>",
                           {{"", true, "http://elsewhere/x", "ffff", 1e10}});
    EXPECT_NE(wu.xml_doc.find("<name>jf_ffff</name>\n    <url>http://elsewhere/x</url>"), std::string::npos);
    EXPECT_NE(wu.xml_doc.find("<nbytes>10000000000</nbytes>"), std::string::npos);
}

TEST(InputTemplate, GzipAddsTheCompressedUrl) {
    const std::string text =
        "<file_info><gzip/></file_info><workunit><file_ref><open_name>i</open_name></file_ref></workunit>";
    EXPECT_NE(expand(text, {file("zipped")}).xml_doc.find("zipped.gz</gzipped_url>\n    <gzipped_nbytes>20<"),
              std::string::npos);
    EXPECT_THROW(expand(text, {file("plain")}), ConfigError);
}

TEST(InputTemplate, CommandLineOnceOnly) {
    EXPECT_NE(expand("<workunit></workunit>", {}, "-x 1").xml_doc.find("<command_line>\n-x 1\n</command_line>"),
              std::string::npos);
    EXPECT_THROW(expand("<workunit><command_line>a</command_line></workunit>", {}, "b"), ConfigError);
}

/// What a submitter gives stays text: nothing of it can end an element and begin another. Clients undo the escapes.
TEST(InputTemplate, ACommandLineCanNotAddElements) {
    const std::string text = expand("<workunit></workunit>", {}, "--f '</command_line><file_ref>' a&b").xml_doc;
    EXPECT_NE(text.find("<command_line>\n--f '&lt;/command_line&gt;&lt;file_ref&gt;' a&amp;b\n</command_line>"),
              std::string::npos)
        << text;
    // Upstream's create_work escapes nothing, so that submitters learned to.
    EXPECT_NE(expand("<workunit></workunit>", {}, "-x 1 &lt; 2 &amp; 3").xml_doc.find("\n-x 1 &lt; 2 &amp; 3\n"),
              std::string::npos);
    EXPECT_NE(expand("<workunit><command_line>1 &lt; 2</command_line></workunit>", {}).xml_doc.find("\n1 &lt; 2\n"),
              std::string::npos);
}

TEST(InputTemplate, UrlsAndNamesCanNotAddElements) {
    const std::string one = "<file_info/><workunit><file_ref><open_name>a&lt;b</open_name></file_ref></workunit>";
    const std::string md5(32, 'a');
    const std::string remote = expand(one, {{"x", true, "http://h/?a=1&b=<url>", md5, 5}}).xml_doc;
    EXPECT_NE(remote.find("<url>http://h/?a=1&amp;b=&lt;url&gt;</url>"), std::string::npos) << remote;
    EXPECT_NE(remote.find("<open_name>a&lt;b</open_name>"), std::string::npos) << remote;
    EXPECT_THROW(expand(one, {{"x", true, "http://h/f", "</md5_cksum>", 5}}), ConfigError);
    const std::string staged_one = expand(one, {file("<f&1>")}).xml_doc;
    EXPECT_NE(staged_one.find("<name>&lt;f&amp;1&gt;</name>"), std::string::npos) << staged_one;
    EXPECT_NE(staged_one.find("<file_name>&lt;f&amp;1&gt;</file_name>"), std::string::npos) << staged_one;
}

struct Wrong {
    const char* text;
    int files;
    const char* says;
};
class WrongTemplate : public testing::TestWithParam<Wrong> {};
TEST_P(WrongTemplate, IsRefusedWithAReason) {
    std::vector<JobFile> files(static_cast<std::size_t>(GetParam().files), file("f"));
    try {
        expand(GetParam().text, files);
        FAIL() << "accepted";
    } catch (const ConfigError& e) {
        EXPECT_NE(std::string(e.what()).find(GetParam().says), std::string::npos) << e.what();
        EXPECT_EQ(std::string(e.what()).rfind("app_in: ", 0), 0u);
    }
}
INSTANTIATE_TEST_SUITE_P(
    All, WrongTemplate,
    testing::Values(
        Wrong{"", 0, "exactly one <workunit>"}, Wrong{"<workunit/><workunit/>", 0, "exactly one <workunit>"},
        Wrong{"<file_info/><workunit><file_ref><open_name>a</open_name></file_ref></workunit>", 0, "more input files"},
        Wrong{"<workunit/>", 1, "1 input files"}, Wrong{"<file_info/><workunit/>", 1, "0 <file_ref>s for 1"},
        Wrong{"<workunit><file_ref><open_name>a</open_name></file_ref></workunit>", 0, "more <file_ref>s"},
        Wrong{"<file_info/><workunit><file_ref/></workunit>", 1, "needs <open_name>"},
        Wrong{"<workunit><delay_bound>soon</delay_bound></workunit>", 0, "<delay_bound>soon"},
        Wrong{"<workunit><delay_bound></delay_bound></workunit>", 0, "is no number"},
        Wrong{"<workunit><batch>1e300</batch></workunit>", 0, "<batch>1e300</batch> is out of range"},
        Wrong{"<workunit", 0, "at byte"}));

}  // namespace
}  // namespace sluice
