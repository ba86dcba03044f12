// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/xml/result_template.h"

#include <gtest/gtest.h>

#include "sluice/base/error.h"

namespace sluice {
namespace {

constexpr const char* kTemplate = R"(<output_template>
<file_info>
    <name><OUTFILE_0/></name>
    <generated_locally/>
    <upload_when_present/>
    <max_nbytes>1000000</max_nbytes>
    <url><UPLOAD_URL/></url>
</file_info>
<result>
    <file_ref>
        <file_name><OUTFILE_0/></file_name>
        <open_name>out</open_name>
    </file_ref>
</result>
</output_template>
)";

TEST(ResultTemplate, NamesAndUrlAreFilledIn) {
    const std::string base = output_file_base("wu_1_0", 42);
    EXPECT_EQ(base, "wu_1_0_r42_");
    EXPECT_EQ(expand_result_template(kTemplate, "templates/out", base, "http://p/upload", nullptr),
              R"(<file_info>
    <name>wu_1_0_r42_0</name>
    <generated_locally/>
    <upload_when_present/>
    <max_nbytes>1000000</max_nbytes>
    <url>http://p/upload</url>
</file_info>
<result>
    <file_ref>
        <file_name>wu_1_0_r42_0</file_name>
        <open_name>out</open_name>
    </file_ref>
</result>
)");
}

TEST(ResultTemplate, WhatIsPutInIsNotExpandedAgain) {
    EXPECT_EQ(expand_result_template("<result><OUTFILE_a b/></result>", "t", "<UPLOAD_URL/>", "u", nullptr),
              "<result><UPLOAD_URL/>a b</result>\n");
}

TEST(ResultTemplate, EachFileInfoIsSigned) {
    const KeyPairText keys = generate_key_pair();
    const PrivateKey signer = PrivateKey::from_text(keys.private_key);
    const std::string xml = expand_result_template(kTemplate, "t", "wu_1_0_r42_", "u", &signer);
    const std::size_t start = xml.find("<xml_signature>\n"), end = xml.find("</xml_signature>\n</file_info>");
    ASSERT_NE(start, std::string::npos);
    ASSERT_NE(end, std::string::npos);
    const std::string signature = xml.substr(start + 16, end - start - 16);
    EXPECT_TRUE(PublicKey::from_text(keys.public_key)
                    .verify("<name>wu_1_0_r42_0</name><max_nbytes>1000000</max_nbytes>", signature));
}

TEST(ResultTemplate, WrongTemplatesAreNamed) {
    const KeyPairText keys = generate_key_pair();
    const PrivateKey signer = PrivateKey::from_text(keys.private_key);
    for (const char* text : {"", "<file_info></file_info>", "<result>", "<result/>", "</result><result>"})
        EXPECT_THROW(expand_result_template(text, "templates/x", "b", "u", nullptr), ConfigError) << text;
    for (const char* text : {"<file_info><name>a</name></file_info><result></result>",
                             "<file_info><name>a</name><max_nbytes>1</max_nbytes><result></result>"})
        EXPECT_THROW(expand_result_template(text, "templates/x", "b", "u", &signer), ConfigError) << text;
}

TEST(ResultTemplate, TagsInCommentsDoNotCount) {
    const KeyPairText keys = generate_key_pair();
    const PrivateKey signer = PrivateKey::from_text(keys.private_key);
    EXPECT_EQ(
        expand_result_template("<!-- <result> and <file_info> -->\n<result>\n<!-- </result> -->\n</result>\n<!---->",
                               "t", "b", "u", &signer),
        "<result>\n\n</result>\n");
    for (const char* text : {"<!-- <result></result> -->", "<result><!-- </result> -->", "<!-- <result></result>"})
        EXPECT_THROW(expand_result_template(text, "templates/x", "b", "u", nullptr), ConfigError) << text;
}

TEST(ResultTemplate, TheLineOfAJoinedResult) {
    EXPECT_EQ(line_of_joined_result("<result>\n</result>"), 0);
    EXPECT_EQ(line_of_joined_result("a\n<result><file_ref>"), 2);
    EXPECT_EQ(line_of_joined_result("<!-- each <result> has\none file -->\n<result>\n</result>"), 0);
    EXPECT_EQ(line_of_joined_result("<!-- each <result> has\none file -->\n<result> </result>"), 3);
    EXPECT_EQ(line_of_joined_result("<!-- <result> "), 0) << "a comment without an end";
}

}  // namespace
}  // namespace sluice
