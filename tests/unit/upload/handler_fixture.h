// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Requests to the upload handler, and what is on disk afterwards.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "sched/upload/handler.h"
#include "sched/upload/upload_file.h"
#include "sluice/base/files.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/upload/body_of.h"

namespace sluice::test {

using upload::Answer;
using upload::UploadSettings;

inline const KeyPairText& upload_keys() {
    static const KeyPairText pair = generate_key_pair();
    return pair;
}

struct Request {
    std::string name = "wu_0_r1_0", data = "0123456789";
    std::string nbytes = "10", offset = "0", max_nbytes = "1000";
    bool sign = true;
    std::string signed_name;  ///< if the certificate is for another file

    std::string text() const {
        std::string out =
            "<data_server_request>\n<core_client_major_version>7</core_client_major_version>\n<file_upload>\n"
            "<file_info>\n<name>" +
            name + "</name>\n";
        if (sign) {
            const std::string what = "<name>" + (signed_name.empty() ? name : signed_name) + "</name><max_nbytes>" +
                                     max_nbytes + "</max_nbytes>";
            out += "<xml_signature>\n" + PrivateKey::from_text(upload_keys().private_key).sign(what) +
                   "</xml_signature>\n";
        }
        if (!max_nbytes.empty()) out += "<max_nbytes>" + max_nbytes + "</max_nbytes>\n";
        out += "</file_info>\n";
        if (!nbytes.empty()) out += "<nbytes>" + nbytes + "</nbytes>\n";
        return out + "<md5_cksum>x</md5_cksum>\n<offset>" + offset + "</offset>\n<data>\n" + data;
    }
};

struct Handler : ::testing::Test {
    TempDir dir;
    PublicKey key = PublicKey::from_text(upload_keys().public_key);
    UploadSettings settings;
    Handler() {
        settings.upload_dir = dir.path();
        settings.key = &key;
        settings.free_space = [](const std::filesystem::path&) { return 1e12; };
    }
    Answer handle(const std::string& text) {
        upload::BodyReader body = body_of(text, 777);
        Answer answer = upload::handle_upload_request(body, settings, "10.0.0.1");
        EXPECT_EQ(body.line(10), std::nullopt) << "the body is always read to its end";
        return answer;
    }
    Answer size_of(const std::string& name) {
        return handle("<data_server_request>\n<get_file_size>" + name + "</get_file_size>\n</data_server_request>\n");
    }
    std::string part() { return content(upload::part_name("wu_0_r1_0")); }
    std::string content(const std::string& path = "wu_0_r1_0") { return read_file(dir / path).value_or("NONE"); }
    void expect(const Request& request, Answer::Status status, const std::string& message) {
        const Answer answer = handle(request.text());
        EXPECT_EQ(answer.status, status) << answer.message;
        EXPECT_NE(answer.message.find(message), std::string::npos) << answer.message;
    }
};

inline constexpr auto kDone = Answer::Status::kDone, kTransient = Answer::Status::kTransient,
                      kPermanent = Answer::Status::kPermanent;

}  // namespace sluice::test
