// SPDX-License-Identifier: LGPL-3.0-or-later
// make_project: the database's accounts, a database on another machine, options that do not go together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/db_settings.h"
#include "config/load.h"
#include "tests/db/project/make_project_command.h"
#include "tests/support/certificates.h"
#include "tests/support/private_mariadb.h"

namespace sluice::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;

/// The programs that were built, and a scheduler that is only there.
void install_in(const TempDir& dir) {
    std::filesystem::create_directories(dir / "prefix/cgi-bin");
    std::filesystem::create_directory_symlink(SLUICE_BIN, dir / "prefix/bin");
    for (const char* name : {"cgi", "file_upload_handler"})
        std::filesystem::permissions(dir.write(std::string("prefix/cgi-bin/") + name, "#!/bin/sh\n"),
                                     std::filesystem::perms::owner_all);
}

class DatabaseAccount : public testing::Test {
  protected:
    DatabaseAccount() {
        install_in(dir_);
        ::setenv("MYSQL_UNIX_PORT", server_.socket().c_str(), 1);
    }
    /// A project of that account; no password: make_project chooses one.
    RunResult make_project(const std::string& name, const std::string& user, const std::string& password = "",
                           const std::vector<std::string>& more = {}) {
        std::vector<std::string> words{"--name",
                                       name,
                                       "--db_user",
                                       user,
                                       "--db_passwd",
                                       password,
                                       "--db_admin",
                                       "root",
                                       "--db_admin_passwd",
                                       server_.settings().password,
                                       "--db_socket",
                                       server_.socket()};
        words.insert(words.end(), more.begin(), more.end());
        return run(make_project_command(dir_ / name, dir_ / "prefix", words));
    }
    DbSettings settings_of(const std::string& project) { return db_settings(load_config(dir_ / project).config); }
    static std::int64_t platforms(const DbSettings& settings) {
        Database db(settings);
        return number_of(db, Sql("SELECT COUNT(*) FROM platform"));
    }
    bool is_there(const std::string& database) {
        Sql sql("SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name=");
        return number_of(root_, sql << SqlText{database}) > 0;
    }

    TempDir dir_;
    PrivateMariaDb server_;
    Database root_{server_.settings()};
};

TEST_F(DatabaseAccount, OfAnotherProjectKeepsItsPassword) {
    ASSERT_EQ(make_project("tiles", "shared").status, 0);
    const DbSettings first = settings_of("tiles");
    for (const char* user : {"shared", "root"}) {
        const RunResult refused = make_project("circles", user);
        EXPECT_EQ(refused.status, 1) << user;
        EXPECT_THAT(refused.err, AllOf(HasSubstr("'@'localhost' exists"), HasSubstr("--db_passwd_file"))) << user;
        EXPECT_FALSE(std::filesystem::exists(dir_ / "circles") || is_there("circles"));
    }
    const RunResult made = make_project("circles", "shared", first.password);
    ASSERT_EQ(made.status, 0) << made.err;
    EXPECT_GT(platforms(first), 8);
    EXPECT_GT(platforms(settings_of("circles")), 8);
}

TEST_F(DatabaseAccount, OfThisProjectAloneGetsNewPassword) {
    ASSERT_EQ(make_project("tiles", "tiler").status, 0);
    const DbSettings before = settings_of("tiles");
    std::filesystem::remove_all(dir_ / "tiles");
    const RunResult again = make_project("tiles", "tiler", "", {"--drop_db_first"});
    ASSERT_EQ(again.status, 0) << again.err;
    EXPECT_THROW(platforms(before), DbError);
    EXPECT_GT(platforms(settings_of("tiles")), 8);
}

TEST_F(DatabaseAccount, IsRemovedIfTablesCannotBeMade) {
    root_.execute(Sql("SET GLOBAL init_connect='ends the connection of whoever is not root'"));
    EXPECT_EQ(make_project("tiles", "newcomer").status, 1);
    EXPECT_EQ(number_of(root_, Sql("SELECT COUNT(*) FROM mysql.user WHERE user='newcomer'")), 0);
    EXPECT_FALSE(is_there("tiles"));
}

TEST_F(DatabaseAccount, IsRemovedIfItsRightsCannotBeGranted) {
    root_.execute(Sql("CREATE USER maker@localhost IDENTIFIED BY 'of maker'"));
    root_.execute(Sql("GRANT SELECT, CREATE, DROP, CREATE USER ON *.* TO maker@localhost"));
    const RunResult refused =
        make_project("tiles", "newcomer", "", {"--db_admin", "maker", "--db_admin_passwd", "of maker"});
    EXPECT_EQ(refused.status, 1);
    EXPECT_EQ(number_of(root_, Sql("SELECT COUNT(*) FROM mysql.user WHERE user='newcomer'")), 0) << refused.err;
    EXPECT_FALSE(is_there("tiles"));
}

TEST(DatabaseElsewhere, ConnectionIsEncryptedIfItsAuthorityIsNamed) {
    const TempDir dir;
    const std::filesystem::path root = dir / "tiles";
    install_in(dir);
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
