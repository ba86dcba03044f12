// SPDX-License-Identifier: LGPL-3.0-or-later
// The servers of tests (and of ./quickstart, which has the same set-up) stand on machines that other people use too:
// what a stranger on the machine can do with them is nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "sluice/base/error.h"
#include "tests/support/private_mariadb.h"

namespace sluice::test {
namespace {

int mode_of(const std::filesystem::path& file) {
    struct stat info {};
    return ::stat(file.c_str(), &info) == 0 ? static_cast<int>(info.st_mode & 07777) : -1;
}

std::string refusal(const DbSettings& settings) {
    try {
        Database db(settings);
        db.connect();
    } catch (const DbError& e) {
        return e.what();
    }
    return "connected";
}

TEST(PrivateServer, ItsFolderIsClosedToOthers) {
    PrivateMariaDb server;
    EXPECT_EQ(mode_of(server.socket().parent_path()), accounts_apart() ? 0711 : 0700);
    EXPECT_EQ(mode_of(server.data()), 0700);
    for (const Role role : {Role::kProject, Role::kWeb, Role::kClient})
        EXPECT_EQ(run({"ls", server.data().string()}, {.run_as = role}).status == 0, !accounts_apart());
    EXPECT_EQ(mode_of(server.socket().parent_path() / "client.cnf"), 0600);
    EXPECT_EQ(mode_of(server.socket().parent_path() / "accounts.sql"), 0600);
}

TEST(PrivateServer, NoAccountIsWithoutPassword) {
    PrivateMariaDb server({.tcp = true});
    Database db(server.settings());
    EXPECT_EQ(rows_of(db, Sql("SELECT User FROM mysql.global_priv WHERE User NOT IN ('root','mariadb.sys')"), 1).size(),
              0u);
    const std::string port = std::to_string(server.port());
    for (const std::string& host : {std::string("localhost"), "127.0.0.1:" + port, "localhost:" + port})
        for (const char* user : {"root", "", "nobody", "test"})
            for (const char* password : {"", "root", "123456"}) {
                DbSettings guess;
                guess.host = host;
                guess.user = user;
                guess.password = password;
                EXPECT_THAT(refusal(guess), testing::HasSubstr("refuses user"))
                    << host << " " << user << " " << password;
            }
}

TEST(PrivateServer, ItWritesAndReadsNoFilesForAnybody) {
    PrivateMariaDb server;
    Database db(server.settings());
    const TempDir folder;
    std::filesystem::permissions(folder.path(), std::filesystem::perms(0777));
    const std::filesystem::path target = folder / "cron", secret = folder.write("secret", "the key");
    Sql write("SELECT 'text' INTO OUTFILE ");
    EXPECT_THROW(db.execute(write << SqlText{target.string()}), DbError);
    EXPECT_FALSE(std::filesystem::exists(target));
    Sql read("SELECT IFNULL(LOAD_FILE(");
    EXPECT_EQ(rows_of(db, read << SqlText{secret.string()} << "),'nothing')", 1),
              (std::vector<std::vector<std::string>>{{"nothing"}}));
}

TEST(TestProgram, DoesNotRunAsRoot) {
    // Except where the account for it can't read the build, which is said on standard error.
    EXPECT_TRUE(::geteuid() != 0 || std::string(::getenv("SLUICE_ALLOW_ROOT")) == "1");
}

}  // namespace
}  // namespace sluice::test
