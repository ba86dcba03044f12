// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sched/upload/request_head.h"

#include <gtest/gtest.h>

#include "tests/unit/upload/body_of.h"

namespace sluice::test {
namespace {

using upload::RequestHead;

RequestHead head_of(const std::string& text) {
    upload::BodyReader body = body_of(text, 5);
    return upload::read_request_head(body);
}

TEST(RequestHead, SizeQuery) {
    const RequestHead h = head_of(
        "<data_server_request>\n    <core_client_major_version>7</core_client_major_version>\n"
        "    <core_client_minor_version>20</core_client_minor_version>\n    <core_client_release>5</core_client_release>\n"
        "    <get_file_size>wu_0_r1_0</get_file_size>\n</data_server_request>\n");
    EXPECT_EQ(h.kind, RequestHead::Kind::kGetFileSize);
    EXPECT_EQ(h.name, "wu_0_r1_0");
    EXPECT_EQ(h.core_major * 10000 + h.core_minor * 100 + h.core_release, 72005);
}

const char kUpload[] =
    "<data_server_request>\n    <core_client_major_version>7</core_client_major_version>\n<file_upload>\n<file_info>\n"
    "<name>wu_0_r1_0</name>\n<xml_signature>\nabcd\nef01\n.\n</xml_signature>\n<max_nbytes>1000000</max_nbytes>\n"
    "</file_info>\n<nbytes>34</nbytes>\n<md5_cksum>a4a2</md5_cksum>\n<offset>3</offset>\n<data>\nDATA";

TEST(RequestHead, Upload) {
    upload::BodyReader body = body_of(kUpload, 3);
    const RequestHead h = upload::read_request_head(body);
    EXPECT_EQ(h.kind, RequestHead::Kind::kUpload);
    EXPECT_EQ(h.name, "wu_0_r1_0");
    EXPECT_TRUE(h.has_signature);
    EXPECT_EQ(h.signature, "abcd\nef01\n.\n\n");
    EXPECT_EQ(h.max_nbytes, 1000000);
    EXPECT_EQ(h.nbytes, 34);
    EXPECT_EQ(h.offset, 3);
    EXPECT_TRUE(h.offset_ok && h.has_data);
    EXPECT_EQ(body.line(100), "DATA");
}

TEST(RequestHead, WhatIsMissingIsKnownToBe) {
    const RequestHead h = head_of("<data_server_request>\n<file_upload>\n<file_info>\n<name>x</name>\n</file_info>\n");
    EXPECT_EQ(h.kind, RequestHead::Kind::kUpload);
    EXPECT_FALSE(h.has_signature || h.max_nbytes || h.nbytes || h.has_data);
    EXPECT_EQ(head_of("").kind, RequestHead::Kind::kNone);
    EXPECT_EQ(head_of("hello\nworld\n").kind, RequestHead::Kind::kNone);
    EXPECT_EQ(head_of("<data_server_request>\n</data_server_request>\n<get_file_size>x</get_file_size>\n").kind,
              RequestHead::Kind::kNone);
    EXPECT_FALSE(head_of("<file_upload>\n<xml_signature>\n</xml_signature>\n<data>\n").has_signature);
}

TEST(RequestHead, Numbers) {
    const auto with = [](const std::string& line) { return head_of("<file_upload>\n" + line + "\n<data>\n"); };
    EXPECT_EQ(with("<nbytes>4294967296</nbytes>").nbytes, 4294967296.0);
    EXPECT_EQ(with("<nbytes>-1</nbytes>").nbytes, -1);
    for (const char* bad : {"nan", "inf", "", "12x", "1e999"})
        EXPECT_EQ(with("<nbytes>" + std::string(bad) + "</nbytes>").nbytes, std::nullopt) << bad;
    for (const char* bad : {"-1", "nan", "inf", "1.5", "1e300", "x"})
        EXPECT_FALSE(with("<offset>" + std::string(bad) + "</offset>").offset_ok) << bad;
    EXPECT_TRUE(with("").offset_ok);
    EXPECT_EQ(with("<max_nbytes>5</max_nbytes>").nbytes, std::nullopt) << "max_nbytes is not nbytes";
}

TEST(RequestHead, AnEndlessHeadEnds) {
    std::string text = "<file_upload>\n";
    for (int i = 0; i < 100000; ++i) text += "<url>http://x/</url>\n";
    EXPECT_FALSE(head_of(text + "<data>\n").has_data);
    EXPECT_FALSE(head_of("<file_upload>\n<xml_signature>\n" + std::string(200000, '\n') + "<data>\n").has_data);
}

}  // namespace
}  // namespace sluice::test
