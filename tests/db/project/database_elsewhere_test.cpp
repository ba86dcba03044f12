// SPDX-License-Identifier: LGPL-3.0-or-later
// make_project with a database on another machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/load.h"
#include "tests/db/project/make_project_command.h"
#include "tests/support/certificates.h"
#include "tests/support/private_mariadb.h"

namespace sluice::test {
namespace {

using testing::HasSubstr;

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

}  // namespace
}  // namespace sluice::test
