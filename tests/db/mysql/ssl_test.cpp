// SPDX-License-Identifier: LGPL-3.0-or-later
// A database on another machine: with <db_ssl_ca> the connection is encrypted and the server is the right one, or there
// is no connection.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/certificates.h"
#include "tests/support/private_mariadb.h"

namespace sluice::test {
namespace {

using ::testing::HasSubstr;

std::string refusal_of_ssl(DbSettings settings) {
    Database db(std::move(settings));
    try {
        db.connect();
        return "connected";
    } catch (const DbError& e) {
        EXPECT_EQ(e.kind(), DbError::Kind::kCantConnect);
        return e.what();
    }
}
std::string cipher(const DbSettings& settings) {
    Database db(settings);
    return rows_of(db, Sql("SHOW SESSION STATUS LIKE 'Ssl_cipher'"), 2).at(0).at(1);
}

TEST(DatabaseSsl, EncryptedAndCheckedOrNotAtAll) {
    const Certificates made;
    PrivateMariaDb server({.tcp = true,
                           .more = {"--ssl-cert=" + made.file("server.pem"), "--ssl-key=" + made.file("server.key"),
                                    "--bind-address=127.0.0.1,127.0.0.2"}});
    DbSettings settings = server.settings();
    const auto at = [&](const std::string& address) { return address + ":" + std::to_string(server.port()); };
    settings.host = at("127.0.0.1");
    EXPECT_EQ(cipher(settings), "") << "as upstream: not asked for, not encrypted";
    settings.ssl_ca = made.file("ca.pem");
    EXPECT_NE(cipher(settings), "");
    settings.ssl_ca = made.file("other.pem");
    EXPECT_THAT(refusal_of_ssl(settings), HasSubstr("certificate"));
    settings.ssl_ca = made.file("no such file");
    EXPECT_NE(refusal_of_ssl(settings), "connected");
    settings.ssl_ca = made.file("ca.pem");
    settings.host = at("127.0.0.2");
    EXPECT_NE(refusal_of_ssl(settings), "connected") << "the certificate is for another name";
    settings.host = "localhost";
    EXPECT_EQ(cipher(settings), "") << "the socket needs none";
}

/// The client library has another error for that than where nothing is encrypted.
TEST(DatabaseSsl, AConnectionThatBreaksIsALostOne) {
    const Certificates made;
    PrivateMariaDb server(
        {.tcp = true, .more = {"--ssl-cert=" + made.file("server.pem"), "--ssl-key=" + made.file("server.key")}});
    Database admin(server.settings());
    DbSettings settings = server.settings();
    settings.host = "127.0.0.1:" + std::to_string(server.port());
    settings.ssl_ca = made.file("ca.pem");
    for (const bool interactive : {false, true}) {
        settings.interactive = interactive;
        Database db(settings);
        const auto end_connection = [&] {
            Sql sql("kill ");
            admin.execute(sql << number_of(db, Sql("select connection_id()")));
        };
        db.connect();
        end_connection();
        EXPECT_EQ(number_of(db, Sql("select 1")), 1) << "made anew";
        int asked = 0;
        db.transaction(
            [&] {
                db.query(Sql("select 1"));
                end_connection();
            },
            [&] { return ++asked > 0; });
        EXPECT_EQ(asked, 1) << "the COMMIT may have taken place";
    }
}

TEST(DatabaseSsl, ServerStoppedIsNotWaitedForForEver) {
    const Certificates made;
    PrivateMariaDb server(
        {.tcp = true, .more = {"--ssl-cert=" + made.file("server.pem"), "--ssl-key=" + made.file("server.key")}});
    DbSettings settings = server.settings();
    settings.host = "127.0.0.1:" + std::to_string(server.port());
    settings.ssl_ca = made.file("ca.pem");
    settings.silence = 0.1;
    Database db(settings);
    db.query(Sql("select sleep(0.3)"));
    const StoppedServer stopped(server);
    EXPECT_THROW(db.execute(Sql("do 1")), DbError);
}

TEST(DatabaseSsl, AServerWithoutItIsRefused) {
    const Certificates made;
    PrivateMariaDb server({.tcp = true});
    DbSettings settings = server.settings();
    settings.host = "127.0.0.1:" + std::to_string(server.port());
    EXPECT_EQ(refusal_of_ssl(settings), "connected");
    settings.ssl_ca = made.file("ca.pem");
    EXPECT_THAT(refusal_of_ssl(settings), HasSubstr("SSL"));
}

}  // namespace
}  // namespace sluice::test
