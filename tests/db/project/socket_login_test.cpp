// SPDX-License-Identifier: LGPL-3.0-or-later
// An account of the database that has no password: the server knows the system's account by its socket.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "sluice/base/files.h"
#include "tests/db/project/accounts.h"
#include "tests/support/private_mariadb.h"

namespace sluice::test {
namespace {

class SocketLogin : public Accounts {
  protected:
    SocketLogin() {
        server_.create_project_database("tiles");
        // The folder of the socket is the test's alone.
        for (fs::path at = server_.socket().parent_path(); at.has_relative_path(); at = at.parent_path()) {
            std::error_code ignored;
            fs::permissions(at, fs::perms::others_exec, fs::perm_options::add, ignored);
        }
        fs::permissions(server_.socket(), fs::perms::all);
        Database db(server_.settings());
        db.execute(Sql("CREATE USER 'games'@'localhost' IDENTIFIED VIA unix_socket"));
        db.execute(Sql("GRANT ALL ON tiles.* TO 'games'@'localhost'"));
    }
    PrivateMariaDb server_;
};

TEST_F(SocketLogin, RootChecksAsTheProjectsUser) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to change accounts";
    ASSERT_EQ(make_project({"--user", "games", "--web_user", "www-data"}).status, 0);
    std::string config = read_file(root_ / "config.xml").value();
    for (const auto& [option, value] :
         {std::pair{"db_name", "tiles"}, {"db_user", "games"}, {"db_passwd", ""}, {"db_host", "localhost"}}) {
        const std::string tag(option);
        config = std::regex_replace(config, std::regex("<" + tag + ">[^<]*</" + tag + ">\\s*"), "");
        config.insert(config.find("<config>") + 8, "<" + tag + ">" + value + "</" + tag + ">");
    }
    std::ofstream(root_ / "config.xml") << config;
    const RunResult checked = run({binary_dir() + "/bin/sluice_options", "--check", root_.string()}, options(false));
    EXPECT_THAT(checked.out, testing::Not(testing::HasSubstr("database")));
    EXPECT_THAT(checked.out, testing::HasSubstr("can be used (0 warnings)"));
}

// A project was made whose programs the database refused.
TEST_F(SocketLogin, RootsOwnLoginIsNoProjects) {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to change accounts";
    Sql both("ALTER USER 'root'@'localhost' IDENTIFIED VIA mysql_native_password USING PASSWORD(");
    both << SqlText{server_.settings().password} << ") OR unix_socket";
    Database(server_.settings()).execute(both);
    for (const std::vector<std::string>& admin : {std::vector<std::string>{}, {"--db_admin", "root"}}) {
        std::vector<std::string> words = make_project_command(
            root_, binary_dir(), {"--copy", "--user", "games", "--db_user", "root", "--db_name", "new"});
        words.insert(words.end(), admin.begin(), admin.end());
        const RunResult refused = run(words, options(false));
        EXPECT_EQ(refused.status, 1) << refused.out;
        EXPECT_THAT(refused.err, testing::HasSubstr("run as games"));
        EXPECT_FALSE(fs::exists(root_));
    }
}

}  // namespace
}  // namespace sluice::test
