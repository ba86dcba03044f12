// SPDX-License-Identifier: LGPL-3.0-or-later
// make_project with a database on another machine, and with options that do not go together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/load.h"
#include "tests/db/project/make_project_command.h"
#include "tests/support/certificates.h"
#include "tests/support/private_mariadb.h"

namespace sluice::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;

TEST(DatabaseElsewhere, ConnectionIsEncryptedIfItsAuthorityIsNamed) {
    const TempDir dir;
    const std::filesystem::path root = dir / "tiles";
    std::filesystem::create_directories(dir / "prefix/cgi-bin");
    std::filesystem::create_directory_symlink(SLUICE_BIN, dir / "prefix/bin");
    for (const char* name : {"cgi", "file_upload_handler"})
        std::filesystem::permissions(dir.write(std::string("prefix/cgi-bin/") + name, "#!/bin/sh\n"),
                                     std::filesystem::perms::owner_all);
    const Certificates made;
    PrivateMariaDb server(
        {.tcp = true, .more = {"--ssl-cert=" + made.file("server.pem"), "--ssl-key=" + made.file("server.key")}});
    const auto with_authority = [&](const char* name) {
        return run(
            make_project_command(root, dir / "prefix",
                                 {"--db_user", "root", "--db_passwd", server.settings().password, "--db_host",
                                  "127.0.0.1:" + std::to_string(server.port()), "--db_ssl_ca", made.file(name)}));
    };
    const RunResult refused = with_authority("other.pem");
    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.err, HasSubstr("certificate"));
    const RunResult done = with_authority("ca.pem");
    EXPECT_EQ(done.status, 0) << done.err;
    EXPECT_EQ(load_config(root).config.db_ssl_ca, made.file("ca.pem"));
}

TEST(MakeProject, OptionsWithoutEffectAreRefused) {
    TempDir dir;
    const std::vector<std::vector<std::string>> cases = {{"--only_db", "p", "--db_name", "x"},
                                                         {"--only_db", "p", "--db_host", "x"},
                                                         {"--only_db", "p", "--db_user", "x"},
                                                         {"--only_db", "p", "--no_db"},
                                                         {"--only_db", "p", "tiles"},
                                                         {"--only_db", "p", "--user", "x"},
                                                         {"--renew_programs", "p", "--no_db"},
                                                         {"--no_db", "--drop_db_first", "t"},
                                                         {"--no_db", "--db_admin", "r", "t"},
                                                         {"--keep_db", "--drop_db_first", "t"},
                                                         {"--db_admin_passwd", "x", "t"},
                                                         {"--name", "t", "u"},
                                                         {"--project_host", "h", "--url_base", "http://h", "t"},
                                                         {"--long_name", "T", "t", "U"},
                                                         {"--db_passwd", "x", "--db_passwd_file", "f", "t"}};
    for (std::vector<std::string> words : cases) {
        words.insert(words.begin(), SLUICE_BIN "/make_project");
        RunOptions there;
        there.cwd = dir.path();
        there.env["HOME"] = dir.path().string();
        const RunResult r = run(words, there);
        EXPECT_EQ(r.status, 1) << words[1] << " " << words.back();
        EXPECT_THAT(r.err, AllOf(HasSubstr(" has no effect with"), MatchesRegex("[^\n]*\n"))) << words.back();
        EXPECT_FALSE(std::filesystem::exists(dir / "projects"));
    }
}

}  // namespace
}  // namespace sluice::test
