// SPDX-License-Identifier: LGPL-3.0-or-later
// The Apache fragments that make_project writes, in a real Apache: what clients must reach, and what nobody
// may.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sluice/base/project.h"
#include "tests/support/page_project.h"
#include "tests/support/private_apache.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

struct Variant {
    ApacheMode mode;
    const char* fragment;
};

class ProjectPages : public testing::TestWithParam<Variant> {
  protected:
    ProjectPages() : root_(dir_ / "Kacheln-Größe&(1)~") {
        // The web server's user must get through.
        fs::permissions(dir_.path(), fs::perms(0755));
        make_page_project(root_);
        dir_.write("Kacheln-Größe&(1)~/download/data.php", "<?php not run ?>");
        dir_.write("Kacheln-Größe&(1)~/upload/secret", "secret");
        ApacheOptions options;
        options.mode = GetParam().mode;
        if (GetParam().mode == ApacheMode::kProxy) scheduler_ = start_scheduler_of(root_);
        options.cgid_too = true;  // uploads go by CGI
        options.include = root_ / GetParam().fragment;
        apache_ = std::make_unique<PrivateApache>(options);
    }
    HttpReply get(const std::string& path) { return http(apache_->port(), path); }

    TempDir dir_;
    fs::path root_;
    std::unique_ptr<Subprocess> scheduler_;
    std::unique_ptr<PrivateApache> apache_;
};

TEST_P(ProjectPages, ClientsFindWhatTheyAskFor) {
    const HttpReply master = get("/tiles/");
    EXPECT_EQ(master.status, 200) << apache_->error_log();
    EXPECT_THAT(master.body, HasSubstr("<scheduler>http://127.0.0.1/tiles_cgi/cgi</scheduler>"));
    const HttpReply config = get("/tiles/get_project_config.php");
    EXPECT_EQ(config.status, 200);
    EXPECT_THAT(config.head, HasSubstr("Content-Type: text/xml"));
    EXPECT_THAT(config.body, HasSubstr("<project_config>"));
    const HttpReply account = get("/tiles/lookup_account.php?email_addr=a@b.c");
    EXPECT_THAT(account.head, HasSubstr("Content-Type: text/xml"));
    EXPECT_THAT(account.body, HasSubstr("<error_num>"));
    EXPECT_EQ(get("/tiles/download/data.php").body, "<?php not run ?>");
}

TEST_P(ProjectPages, SchedulerAndUploadHandlerAnswer) {
    // There is no database: a proper reply all the same. Above mod_fcgid's own limit of 128 KB.
    const std::string request = "<scheduler_request>\n" + std::string(300000, ' ') + "</scheduler_request>\n";
    const HttpReply reply = http(apache_->port(), "/tiles_cgi/cgi", request);
    EXPECT_EQ(reply.status, 200) << apache_->error_log();
    EXPECT_THAT(reply.body, AllOf(testing::StartsWith("<scheduler_reply>"), HasSubstr("</scheduler_reply>")));
    const HttpReply upload = http(apache_->port(), "/tiles_cgi/file_upload_handler", "<data_server_request>\n");
    EXPECT_EQ(upload.status, 200) << apache_->error_log();
    EXPECT_THAT(upload.body, testing::StartsWith("<data_server_reply>"));
}

/// Upstream's pages over html/, without PHP: three of them were served as text.
TEST_P(ProjectPages, TextOfPhpPageIsShownToNobody) {
    const std::string root = "Kacheln-Größe&(1)~/";
    for (const char* page :
         {"user/get_project_config.php", "user/lookup_account.php", "user/create_account.php", "user/index.php",
          "user/home.php", "user/late.inc", "user/a.phtml", "user/a.php5", "user/white.php"})
        dir_.write(root + "html/" + page,
                   std::string(page).ends_with("white.php") ? "\n<?php secret ?>" : "<?php secret ?>");
    for (const char* page :
         {"get_project_config.php", "lookup_account.php?email_addr=a@b.c", "create_account.php", "index.php",
          "home.php", "late.inc", "a.phtml", "a.php5", "white.php", "white.php/x", "home%2ephp", ""}) {
        const HttpReply reply = get(std::string("/tiles/") + page);
        EXPECT_THAT(reply.body, AllOf(Not(HasSubstr("<?php")), Not(HasSubstr("secret")))) << page;
        EXPECT_TRUE(reply.status >= 400 || *page == '\0') << page;
    }
}

TEST_P(ProjectPages, MissingModuleIsToldInsteadOfServingPrograms) {
    ApacheOptions options;
    options.mode = ApacheMode::kProxy;  // no CGI
    options.include = root_ / GetParam().fragment;
    try {
        PrivateApache without(options);
        FAIL() << "it serves the programs' files";
    } catch (const std::exception& error) {
        EXPECT_THAT(error.what(), HasSubstr("tiles needs mod_cgid or mod_cgi: a2enmod cgid"));
    }
}

TEST_P(ProjectPages, NothingElseIsServed) {
    for (const char* path : {"/tiles/../keys/upload_private", "/tiles/%2e%2e/%2e%2e/config.xml",
                             "/tiles_cgi/../config.xml", "/tiles/upload/secret", "/upload/secret", "/tiles/download/",
                             "/tiles/stats/", "/keys/", "/tiles/download/../config.xml", "/tiles_cgi/"}) {
        const HttpReply reply = get(path);
        EXPECT_GE(reply.status, 400) << path;
        EXPECT_THAT(reply.body, AllOf(Not(HasSubstr("secret")), Not(HasSubstr("db_passwd")))) << path;
    }
}

INSTANTIATE_TEST_SUITE_P(Fragments, ProjectPages,
                         testing::Values(Variant{ApacheMode::kCgid, "tiles.httpd.conf"},
                                         Variant{ApacheMode::kFcgid, "tiles.httpd.fcgi.conf"},
                                         Variant{ApacheMode::kProxy, "tiles.httpd.proxy.conf"}),
                         [](const testing::TestParamInfo<Variant>& variant) {
                             const ApacheMode mode = variant.param.mode;
                             return mode == ApacheMode::kCgid    ? "Cgi"
                                    : mode == ApacheMode::kFcgid ? "FastCgi"
                                                                 : "Proxy";
                         });

}  // namespace
}  // namespace sluice::test
