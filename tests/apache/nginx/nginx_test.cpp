// SPDX-License-Identifier: LGPL-3.0-or-later
// The nginx fragments that make_project writes, in a real nginx with a real fcgiwrap: what clients must reach, large
// uploads, and what nobody may see. tests/client/real/nginx_test.cpp has a real client.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/core.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "sluice/base/files.h"
#include "sluice/base/project.h"
#include "sluice/base/signing.h"
#include "tests/support/page_project.h"
#include "tests/support/private_apache.h"
#include "tests/support/private_nginx.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* kFolder = "Kacheln-Größe&(1)~";
constexpr const char* kHandler = "/tiles_cgi/file_upload_handler";

/// Bytes of all values, no two megabytes alike.
std::string bytes_to_upload(std::size_t n) {
    std::string out(n, '\0');
    std::uint32_t x = 54321;
    for (char& c : out) c = static_cast<char>((x = x * 1664525 + 1013904223) >> 24);
    return out;
}

/// The parameter: the scheduler is a FastCGI server of the project's, instead of fcgiwrap's programs.
class BehindNginx : public testing::TestWithParam<bool> {
  protected:
    BehindNginx() : root_(dir_ / kFolder) {
        fs::permissions(dir_.path(), fs::perms(0755));
        make_page_project(root_);
        write("download/data.php", "<?php not run ?>");
        if (GetParam()) scheduler_ = start_scheduler_of(root_);
        nginx_ = std::make_unique<PrivateNginx>(root_ / (GetParam() ? "tiles.nginx.proxy.conf" : "tiles.nginx.conf"));
    }
    void write(const std::string& file, const std::string& text) const {
        dir_.write(std::string(kFolder) + "/" + file, text);
    }
    HttpReply get(const std::string& path) { return http(nginx_->port(), path); }
    std::string upload_text(const std::string& name, const std::string& data, std::size_t offset = 0) const {
        const PrivateKey key = PrivateKey::read(root_ / "keys/upload_private");
        const std::string signed_text = "<name>" + name + "</name><max_nbytes>200000000</max_nbytes>";
        return fmt::format(
            "<data_server_request>\n<core_client_major_version>7</core_client_major_version>\n<file_upload>\n<file_info>\n<name>{}</name>\n"
            "<xml_signature>\n{}</xml_signature>\n<max_nbytes>200000000</max_nbytes>\n</file_info>\n<nbytes>{}</nbytes>\n"
            "<md5_cksum>d41d8cd98f00b204e9800998ecf8427e</md5_cksum>\n<offset>{}</offset>\n<data>\n{}",
            name, key.sign(signed_text), data.size(), offset, data.substr(offset));
    }
    std::string stored(const std::string& name) const {
        const RightsToAllFiles rights;
        std::ifstream in(fanout_path(root_ / "upload", name, 1024), std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }

    TempDir dir_;
    fs::path root_;
    std::unique_ptr<Subprocess> scheduler_;
    std::unique_ptr<PrivateNginx> nginx_;
};

TEST_P(BehindNginx, ClientsFindWhatTheyAskFor) {
    const HttpReply master = get("/tiles/");
    EXPECT_EQ(master.status, 200) << nginx_->error_log();
    EXPECT_THAT(master.body, HasSubstr("<scheduler>http://127.0.0.1/tiles_cgi/cgi</scheduler>"));
    EXPECT_EQ(get("/tiles").status, 301);
    const HttpReply config = get("/tiles/get_project_config.php");
    EXPECT_EQ(config.status, 200) << nginx_->error_log();
    EXPECT_THAT(config.head, HasSubstr("Content-Type: text/xml"));
    EXPECT_THAT(config.body, HasSubstr("<project_config>"));
    EXPECT_THAT(get("/tiles/lookup_account.php?email_addr=a@b.c").body, HasSubstr("<error_num>"));
    EXPECT_EQ(get("/tiles/download/data.php").body, "<?php not run ?>");
}

TEST_P(BehindNginx, SchedulerAnswersLargeRequests) {
    // There is no database: a proper reply all the same. Above nginx's own limit of 1 MB.
    const std::string request = "<scheduler_request>\n" + std::string(3 << 20, ' ') + "</scheduler_request>\n";
    const HttpReply reply = http(nginx_->port(), "/tiles_cgi/cgi", request);
    EXPECT_EQ(reply.status, 200) << nginx_->error_log();
    EXPECT_THAT(reply.body, AllOf(StartsWith("<scheduler_reply>"), HasSubstr("</scheduler_reply>")));
}

/// Uploads go the same way in both fragments.
class UploadsBehindNginx : public BehindNginx {};

TEST_P(UploadsBehindNginx, HundredMegabytesArriveAndGoOn) {
    const std::string data = bytes_to_upload(100 << 20);
    const HttpReply reply = http(nginx_->port(), kHandler, upload_text("whole", data), 300);
    EXPECT_EQ(reply.status, 200) << nginx_->error_log();
    EXPECT_THAT(reply.body, HasSubstr("<status>0</status>"));
    EXPECT_TRUE(stored("whole") == data);
    // The connection breaks in the middle: what came is kept, and the client sends the rest.
    const std::string text = upload_text("broken", data);
    http_bytes(nginx_->port(),
               fmt::format("POST {} HTTP/1.0\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", kHandler, text.size()) +
                   text.substr(0, 60 << 20));
    const std::string question =
        "<data_server_request>\n<core_client_major_version>7</core_client_major_version>\n<get_file_size>broken</get_file_size>\n"
        "</data_server_request>\n";
    std::string said;
    ASSERT_TRUE(eventually([&] {
        said = http(nginx_->port(), kHandler, question).body;
        return said.find("<file_size>") != std::string::npos && said.find("<file_size>0<") == std::string::npos;
    })) << said
        << nginx_->error_log();
    const std::size_t there = std::stoul(said.substr(said.find("<file_size>") + 11));
    ASSERT_GT(there, 0u);
    EXPECT_LT(there, data.size());
    const HttpReply rest = http(nginx_->port(), kHandler, upload_text("broken", data, there), 300);
    EXPECT_THAT(rest.body, HasSubstr("<status>0</status>")) << nginx_->error_log();
    EXPECT_TRUE(stored("broken") == data);
}

/// Upstream's pages over html/, without PHP.
TEST_P(BehindNginx, TextOfPhpPageIsShownToNobody) {
    write("html/inc/util.inc", "<?php secret ?>");
    for (const char* page :
         {"html/user/get_project_config.php", "html/user/lookup_account.php", "html/user/create_account.php",
          "html/user/index.php", "html/user/home.php", "html/user/late.inc", "html/user/a.phtml", "html/user/a.php5",
          "html/user/.hidden", "html/user/sub/a.php", "html/user/home.php~", "html/ops/index.php"})
        write(page, "<?php secret ?>");
    for (const char* path :
         {"/tiles/get_project_config.php", "/tiles/lookup_account.php?email_addr=a@b.c", "/tiles/create_account.php",
          "/tiles/index.php", "/tiles/home.php", "/tiles/late.inc", "/tiles/a.phtml", "/tiles/a.php5", "/tiles/.hidden",
          "/tiles/sub/a.php", "/tiles/home.php~", "/tiles/home.php/x", "/tiles/home%2ephp", "/tiles/HOME.PHP",
          "/tiles_ops/index.php", "/tiles_ops/"}) {
        const HttpReply reply = get(path);
        EXPECT_THAT(reply.body, AllOf(Not(HasSubstr("<?php")), Not(HasSubstr("secret")))) << path;
        EXPECT_GE(reply.status, 400) << path;
    }
}

TEST_P(BehindNginx, NothingElseIsServed) {
    write("upload/secret", "secret");
    write("html/user_profile/images/a.php", "secret");
    for (const char* path :
         {"/tiles/../keys/upload_private", "/tiles/%2e%2e/%2e%2e/config.xml", "/tiles_cgi/../config.xml",
          "/tiles/upload/secret", "/upload/secret", "/tiles/download/", "/tiles/download../config.xml", "/tiles/stats/",
          "/tiles/stats../../config.xml", "/keys/", "/tiles/download/../config.xml", "/tiles_cgi/", "/tiles_cgi/cgi/x",
          "/tiles_cgi/other", "/tiles/user_profile/images/a.php"}) {
        const HttpReply reply = get(path);
        EXPECT_GE(reply.status, 400) << path;
        EXPECT_THAT(reply.body, AllOf(Not(HasSubstr("secret")), Not(HasSubstr("db_passwd")))) << path;
    }
}

INSTANTIATE_TEST_SUITE_P(Fragments, BehindNginx, testing::Values(false, true),
                         [](const testing::TestParamInfo<bool>& server) {
                             return server.param ? "FastCgiServer" : "Fcgiwrap";
                         });

INSTANTIATE_TEST_SUITE_P(Fragments, UploadsBehindNginx, testing::Values(false),
                         [](const testing::TestParamInfo<bool>&) { return "Fcgiwrap"; });

}  // namespace
}  // namespace sluice::test
