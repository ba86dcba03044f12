// SPDX-License-Identifier: LGPL-3.0-or-later
// db_dump on a real MariaDB: which rows are published, in which form, and that the published folder is always whole.
// Elements, order and formats are those that upstream's program wrote.
#include "daemons/statistics/db_dump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <csignal>

#include "sluice/base/error.h"
#include "sluice/base/files.h"
#include "sluice/xml/strict.h"
#include "tests/support/database_rows.h"
#include "tests/support/paths.h"
#include "tests/support/private_mariadb.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kSpec =
    "<boinc_db_dump_spec>\n<output_dir>../html/stats_tmp</output_dir>\n<final_output_dir>../html/stats</final_output_dir>\n"
    "<enumeration>\n<table>user</table>\n<filename>user</filename>\n<sort>id</sort>\n<output>\n<recs_per_file>2</recs_per_file>\n"
    "</output>\n<output>\n<compression>gzip</compression>\n</output>\n</enumeration>\n"
    "<enumeration>\n<table>host</table>\n<filename>host</filename>\n<sort>total_credit</sort>\n<output>\n<detail/>\n</output>\n"
    "</enumeration>\n<enumeration>\n<table>team</table>\n<filename>team</filename>\n<output>\n<detail/>\n</output>\n"
    "</enumeration>\n<enumeration>\n<table>user_deleted</table>\n<filename>user_deleted</filename>\n<output>\n</output>\n"
    "</enumeration>\n</boinc_db_dump_spec>\n";

class DbDump : public testing::Test {
  protected:
    DbDump() : db_(settings()) {
        truncate_all_tables(db_);
        db_.execute(Sql("DELETE FROM consent"));
        db_.execute(Sql("UPDATE consent_type SET enabled=0 WHERE shortname='STATSEXPORT'"));
        project_.write("config.xml",
                       "<boinc><config>" + PrivateMariaDb::shared().config_elements("dump") + "</config></boinc>");
        project_.write("spec.xml", kSpec);
        project_.write("tmp/x", "");
    }
    static DbSettings settings() {
        static const DbSettings made = PrivateMariaDb::shared().create_project_database("dump");
        return made;
    }
    void user(Id id, double credit, const std::string& name, const std::string& authenticator = "") {
        Sql sql(
            "INSERT INTO user (id, create_time, email_addr, name, authenticator, country, url, teamid, total_credit, "
            "expavg_credit, expavg_time, show_hosts, has_profile, cross_project_id) VALUES (");
        const std::string number = std::to_string(id);
        sql << id << ",1756800001," << SqlText{"u" + number + "@example.org"} << "," << SqlText{name} << ","
            << SqlText{authenticator.empty() ? "a" + number : authenticator} << ",'Trinidad & Tobago','x<y',3,"
            << credit << ",0.09,1799956800.5," << id % 2 << "," << (id == 1 ? 1 : 0) << ",'c')";
        db_.execute(sql);
    }
    void host(Id id, Id userid, double credit, const std::string& domain = "d") {
        Sql sql(
            "INSERT INTO host (id, create_time, userid, rpc_time, total_credit, domain_name, p_vendor, p_ncpus, host_cpid, misc) "
            "VALUES (");
        sql << id << ",5," << userid << ",6," << credit << "," << SqlText{domain}
            << ",'<&>',3,'hc','{\"a\": \"]]>\"}')";
        db_.execute(sql);
    }
    /// On a file system that can't exchange folders; `killed_at`: before that rename of a folder, from 1.
    static RunOptions without_exchange(int killed_at = 0) {
        RunOptions options;
        options.env["LD_PRELOAD"] = binary_dir() + "/tests/no_exchange.so";
        if (killed_at > 0) options.env["SLUICE_TEST_KILL_AT"] = std::to_string(killed_at);
        return options;
    }
    RunResult dump(RunOptions options = {}, const std::vector<std::string>& more = {}) {
        options.env["BOINC_PROJECT_DIR"] = project_.path().string();
        options.cwd = project_ / "tmp";
        std::vector<std::string> words{SLUICE_BIN "/db_dump", "-d", "3", "--dump_spec", "../spec.xml"};
        words.insert(words.end(), more.begin(), more.end());
        return run(words, options);
    }
    std::string published(const std::string& file) const {
        const gzFile in = gzopen((project_ / "html/stats" / file).c_str(), "rb");
        if (in == nullptr) return "(no " + file + ")";
        std::string text(1 << 20, '\0');
        text.resize(static_cast<std::size_t>(std::max(0, gzread(in, text.data(), 1 << 20))));
        gzclose(in);
        return text;
    }
    static std::vector<std::string> ids(const std::string& text) {
        std::vector<std::string> found;
        for (std::size_t at = 0; (at = text.find("<id>", at)) != text.npos; ++at)
            found.push_back(text.substr(at + 4, text.find('<', at + 4) - at - 4));
        return found;
    }

    TempDir project_;
    Database db_;
};

TEST_F(DbDump, UsersWithCreditAreThere) {
    user(1, 37.5, "A & B \xc3\xa9 ]]>"), user(2, 0, "none"), user(3, 7, "gone", "Deleted_3"), user(4, 9, "four"),
        user(5, 9, "five");
    const RunResult r = dump();
    ASSERT_EQ(r.status, 0) << r.err;
    EXPECT_THAT(r.err, HasSubstr("db_dump finished"));
    EXPECT_THAT(ids(published("user.gz")), ElementsAre("1", "4", "5"));
    EXPECT_THAT(
        published("user_0"),
        testing::StartsWith("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<users>\n<user>\n <id>1</id>\n"
                            " <name>A &amp; B \xc3\xa9 ]]&gt;</name>\n <create_time>1756800001</create_time>\n"
                            " <total_credit>37.500000</total_credit>\n <expavg_credit>0.090000</expavg_credit>\n"
                            " <expavg_time>1799956800.500000</expavg_time>\n"
                            " <cpid>0006193ecdcd1b281d50cfc31153b457</cpid>\n"
                            " <country>Trinidad &amp; Tobago</country>\n <url>x&lt;y</url>\n <teamid>3</teamid>\n"
                            " <has_profile/>\n</user>\n"));
    EXPECT_THAT(ids(published("user_0")), ElementsAre("1", "4")) << "each output counts its own records";
    EXPECT_THAT(ids(published("user_1")), ElementsAre("5"));
    EXPECT_EQ(published("db_dump.xml"), kSpec);
    EXPECT_THAT(published("tables.xml"), HasSubstr("    <nusers_total>3</nusers_total>\n"));
    EXPECT_THAT(published("tables.xml"), HasSubstr("<total_credit>55.500000</total_credit>"));
}

// RLIMIT_FSIZE fails a write as a full disk does, for every account.
TEST_F(DbDump, AFullDiskLeavesTheOldFiles) {
    user(1, 1, "one");
    ASSERT_EQ(dump().status, 0);
    const auto old = published("user.gz");
    for (Id id = 2; id <= 200; ++id) user(id, 1, "user " + std::to_string(id));
    for (Id id = 1; id <= 200; ++id) host(id, 1, 1);
    RunOptions options;
    options.env["BOINC_PROJECT_DIR"] = project_.path().string();
    options.cwd = project_ / "tmp";
    const std::string command = std::string(SLUICE_BIN) + "/db_dump -d 1 --dump_spec ../spec.xml";
    const RunResult r = run({"sh", "-c", "trap '' XFSZ; ulimit -f 20; exec " + command}, options);
    EXPECT_EQ(r.status, 1);
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
    EXPECT_THAT(r.err, HasSubstr("stats_tmp/host can't be written: "));
    EXPECT_THAT(r.err, HasSubstr("the files of the last run stay"));
    EXPECT_EQ(published("user.gz"), old);
    EXPECT_TRUE(fs::is_empty(project_ / "html/stats_tmp")) << "the disk has its room back";
    ASSERT_EQ(dump().status, 0);
    EXPECT_EQ(ids(published("host")).size(), 200U);
}

TEST_F(DbDump, OldFoldersAreKeptUpToANumber) {
    const auto write = [&](const std::string& folder) {
        project_.write("html/" + folder + "/db_dump.xml", "x");
        project_.write("html/" + folder + "/more/user", "x");
    };
    for (const char* folder : {"stats_2026_9_30_23_0_0", "stats_2026_10_1_0_0_0", "stats_2025_12_31_1_1_1",
                               "stats_2026_9_30_9_0_0", "stats_mine", "stats_2026_9_30", "stats_2026_9_30_1_1_1x"})
        write(folder);
    project_.write("html/stats_2024_1_1_1_1_1/mine", "not a dump");
    user(1, 1, "one");
    ASSERT_EQ(dump().status, 0);
    EXPECT_TRUE(fs::exists(project_ / "html/stats_2025_12_31_1_1_1")) << "level 0 keeps all, as upstream";
    ASSERT_EQ(dump({}, {"--keep", "3"}).status, 0);
    std::vector<std::string> left;
    for (const auto& entry : fs::directory_iterator(project_ / "html"))
        if (const std::string name = entry.path().filename(); name.starts_with("stats_2")) left.push_back(name);
    EXPECT_THAT(left,
                testing::UnorderedElementsAre("stats_2024_1_1_1_1_1", "stats_2026_10_1_0_0_0", "stats_2026_9_30_23_0_0",
                                              "stats_2026_9_30", "stats_2026_9_30_1_1_1x", testing::_));
    EXPECT_TRUE(fs::exists(project_ / "html/stats_mine"));
}

TEST_F(DbDump, Level1KeepsSevenOldFolders) {
    project_.write("config.xml", "<boinc><config>" + PrivateMariaDb::shared().config_elements("dump") +
                                     "<compat_level>1</compat_level></config></boinc>");
    for (int day = 1; day <= 9; ++day)
        project_.write("html/stats_2026_1_" + std::to_string(day) + "_0_0_0/db_dump.xml", "x");
    ASSERT_EQ(dump().status, 0);
    EXPECT_FALSE(fs::exists(project_ / "html/stats_2026_1_2_0_0_0"));
    EXPECT_TRUE(fs::exists(project_ / "html/stats_2026_1_3_0_0_0"));
    EXPECT_EQ(dump({}, {"--keep", "-1"}).status, 1);
}

TEST_F(DbDump, CountriesAndUrlsMayBeLeftOut) {
    project_.write("config.xml", "<boinc><config>" + PrivateMariaDb::shared().config_elements("dump") +
                                     "<user_country>0</user_country><user_url>0</user_url></config></boinc>");
    user(1, 1, "one");
    ASSERT_EQ(dump().status, 0);
    EXPECT_THAT(published("user.gz"), Not(HasSubstr("<country>")));
    EXPECT_THAT(published("user.gz"), Not(HasSubstr("<url>")));
}

TEST_F(DbDump, CreditByAppIsPublishedWhereKept) {
    user(1, 20, "one"), user(2, 1, "none"), user(3, 7, "gone", "Deleted_3");
    db_.execute(Sql(
        "INSERT INTO app (id, create_time, name, user_friendly_name) VALUES (1,1,'a','A \"&\" <b>'), (2,1,'b','Two')"));
    db_.execute(Sql(
        "INSERT INTO team (id, create_time, userid, name, type, nusers, total_credit, expavg_time) VALUES (3,1,1,'t',1,4,9,0)"));
    db_.execute(
        Sql("INSERT INTO credit_user (userid, appid, njobs, total, expavg, expavg_time, credit_type) VALUES "
            "(1,1,4,1480,59,5,0), (1,2,1,739.5,29.5,5,0), (1,2,2,0.5,0,5,1), (3,1,1,7,7,5,0)"));
    db_.execute(
        Sql("INSERT INTO credit_team (teamid, appid, njobs, total, expavg, expavg_time, credit_type) VALUES "
            "(0,1,1,1,1,5,0), (3,2,1,2,0.25,5,0)"));
    ASSERT_EQ(dump().status, 0);
    EXPECT_FALSE(fs::exists(project_ / "html/stats/user_work.gz"));
    EXPECT_THAT(published("tables.xml"), Not(HasSubstr("credit_by_app")));
    project_.write("config.xml", "<boinc><config>" + PrivateMariaDb::shared().config_elements("dump") +
                                     "<credit_by_app/></config></boinc>");
    ASSERT_EQ(dump().status, 0);
    EXPECT_EQ(
        published("user_work.gz"),
        "<users>\n<user>\n    <id>1</id>\n    <subproject name=\"A &quot;&amp;&quot; &lt;b>\">\n"
        "        <workunits>4</workunits>\n        <credit>1480</credit>\n        <expavg_credit>59</expavg_credit>\n"
        "    </subproject>\n    <subproject name=\"Two\">\n        <workunits>3</workunits>\n        <credit>740</credit>\n"
        "        <expavg_credit>29.5</expavg_credit>\n    </subproject>\n</user>\n<user>\n    <id>2</id>\n</user>\n</users>\n");
    EXPECT_EQ(
        published("team_work.gz"),
        "<teams>\n<team>\n    <id>3</id>\n    <subproject name=\"Two\">\n        <workunits>1</workunits>\n"
        "        <credit>2</credit>\n        <expavg_credit>0.25</expavg_credit>\n    </subproject>\n</team>\n</teams>\n");
    EXPECT_FALSE(strict_xml_fault(published("user_work.gz")));
    EXPECT_THAT(published("tables.xml"), HasSubstr("</update_time>\n    <credit_by_app/>\n    <nusers_total>2"));
}

TEST_F(DbDump, HostsNameOwnersWhoShowThem) {
    user(1, 1, "shows"), user(2, 1, "hides");
    host(1, 1, 5), host(2, 2, 10), host(3, 99, 1), host(4, 1, 0), host(5, 0, 5), host(6, 1, 5, "DELETED");
    ASSERT_EQ(dump().status, 0);
    const std::string hosts = published("host");
    EXPECT_THAT(ids(hosts), ElementsAre("2", "1", "3")) << "the most credit first";
    EXPECT_THAT(hosts, HasSubstr("    <id>1</id>\n    <userid>1</userid>\n"));
    EXPECT_THAT(hosts, Not(HasSubstr("<userid>2</userid>")));
    EXPECT_THAT(hosts, Not(HasSubstr("<userid>99</userid>")));
    EXPECT_THAT(hosts, HasSubstr("    <p_vendor>&lt;&amp;></p_vendor>\n"));
    EXPECT_THAT(hosts,
                HasSubstr("<misc><![CDATA[{\"a\": \"]]]]><![CDATA[>\"}]]></misc>\n  <create_time>5</create_time>\n"));
    EXPECT_THAT(hosts, HasSubstr("  <ncpus>3</ncpus>\n  <p_fpops>"));
    EXPECT_THAT(hosts, HasSubstr("  <host_cpid>hc</host_cpid>\n</host>\n"));
}

TEST_F(DbDump, OnlyWhoConsentsIsPublished) {
    db_.execute(Sql("UPDATE consent_type SET enabled=1 WHERE shortname='STATSEXPORT'"));
    for (const Id id : {1, 2, 3, 4, 5}) user(id, id, "u" + std::to_string(id)), host(id, id, id);
    const auto says = [&](Id id, int time, int flag) {
        Sql sql(
            "INSERT INTO consent (userid, consent_type_id, consent_time, consent_flag, consent_not_required, source) SELECT ");
        db_.execute(sql << id << ", id, " << time << "," << flag
                        << ",0,'t' FROM consent_type WHERE shortname='STATSEXPORT'");
    };
    says(1, 10, 1), says(2, 10, 1), says(2, 20, 0), says(3, 10, 0), says(3, 20, 1);
    says(5, 20, 1), says(5, 20, 0);  // in one second
    // Upstream's view has both of them.
    db_.execute(Sql(
        "CREATE OR REPLACE VIEW latest_consent AS SELECT c.userid, c.consent_type_id, c.consent_flag FROM consent c WHERE "
        "c.consent_time=(SELECT MAX(l.consent_time) FROM consent l WHERE l.userid=c.userid AND "
        "l.consent_type_id=c.consent_type_id)"));
    db_.execute(Sql(
        "INSERT INTO team (id, create_time, userid, name, type, nusers, total_credit, expavg_time) VALUES (3,1,1,'t',1,4,9,0)"));
    db_.execute(Sql(
        "INSERT INTO team (id, create_time, userid, name, type, nusers, total_credit, expavg_time) VALUES (4,1,2,'s',1,0,9,0)"));
    ASSERT_EQ(dump().status, 0);
    EXPECT_THAT(ids(published("user.gz")), ElementsAre("1", "3"));
    EXPECT_THAT(ids(published("host")), ElementsAre("3", "1"));
    const std::string teams = published("team");
    EXPECT_THAT(ids(teams), ElementsAre("3", "1", "3", "4")) << "the team, and its members who consent";
    EXPECT_THAT(teams, HasSubstr("<userid>1</userid>"));
    EXPECT_THAT(teams, HasSubstr("<founder_name>u1</founder_name>"));
    EXPECT_THAT(teams, HasSubstr("<userid>0</userid>")) << "the founder of the other team took his consent back";
    EXPECT_THAT(teams, Not(HasSubstr("u2")));
}

TEST_F(DbDump, DeletedAccountsAreListed) {
    db_.execute(Sql("INSERT INTO user_deleted VALUES (1001,'ce86',5),(1000,'ab',5)"));
    ASSERT_EQ(dump().status, 0);
    EXPECT_EQ(published("user_deleted"),
              "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<users_deleted>\n<user>\n    <id>1000</id>\n"
              "    <cpid>ab</cpid>\n</user>\n<user>\n    <id>1001</id>\n    <cpid>ce86</cpid>\n</user>\n"
              "</users_deleted>\n");
}

// Killed while it wrote, or between the exchange of the folders and the last rename.
TEST_F(DbDump, FilesOfAKilledRunAreNotPublished) {
    user(1, 1, "one");
    for (const char* left : {"user_7", "user_7.gz", "badge_user.gz", "user_notes", "user_"})
        project_.write(std::string("html/stats_tmp/") + left, "<name>gone</name>");
    ASSERT_EQ(dump().status, 0);
    EXPECT_THAT(ids(published("user_0")), ElementsAre("1"));
    for (const char* gone : {"user_7", "user_7.gz", "badge_user.gz"})
        EXPECT_FALSE(fs::exists(project_ / "html/stats" / gone)) << gone;
    for (const char* kept : {"user_notes", "user_"})
        EXPECT_TRUE(fs::exists(project_ / "html/stats" / kept)) << kept << " is no file of a dump";
}

std::vector<std::string> folders_in(const fs::path& path) {
    std::vector<std::string> folders;
    for (const auto& entry : fs::directory_iterator(path)) folders.push_back(entry.path().filename());
    std::ranges::sort(folders);
    return folders;
}

TEST_F(DbDump, TheOldFolderStaysBesideTheNew) {
    user(1, 1, "one");
    ASSERT_EQ(dump().status, 0);
    user(4, 1, "two");
    ASSERT_EQ(dump().status, 0);
    EXPECT_THAT(ids(published("user.gz")), ElementsAre("1", "4"));
    EXPECT_THAT(folders_in(project_ / "html"), ElementsAre("stats", testing::StartsWith("stats_2")));
}

// NFS, and overlayfs of old kernels.
TEST_F(DbDump, FoldersThatCannotBeExchangedAreMoved) {
    user(1, 1, "one");
    ASSERT_EQ(dump(without_exchange()).status, 0);
    user(4, 1, "two");
    const RunResult second = dump(without_exchange());
    ASSERT_EQ(second.status, 0) << second.err;
    EXPECT_THAT(ids(published("user.gz")), ElementsAre("1", "4"));
    EXPECT_THAT(folders_in(project_ / "html"), ElementsAre("stats", testing::StartsWith("stats_2")));
}

TEST_F(DbDump, AKillBetweenMovesIsMendedAtOnce) {
    user(1, 1, "one");
    ASSERT_EQ(dump(without_exchange()).status, 0);
    user(4, 1, "two");
    EXPECT_EQ(dump(without_exchange(1)).signal, SIGKILL);
    EXPECT_THAT(ids(published("user.gz")), ElementsAre("1"));
    EXPECT_EQ(dump(without_exchange(2)).signal, SIGKILL);
    EXPECT_FALSE(fs::exists(project_ / "html/stats")) << "between its two moves";
    // The next run can't even begin to write: what the one before made is there all the same.
    db_.execute(Sql("RENAME TABLE user TO user_away"));
    const RunResult failed = dump(without_exchange());
    db_.execute(Sql("RENAME TABLE user_away TO user"));
    EXPECT_EQ(failed.status, 1);
    EXPECT_THAT(failed.err, HasSubstr("the last run was killed"));
    EXPECT_THAT(ids(published("user.gz")), ElementsAre("1", "4"));
}

// It removes what a killed run left, and is killed meanwhile: half a dump must not look whole.
TEST_F(DbDump, HalfADumpIsNotPublished) {
    user(1, 1, "one");
    project_.write("html/stats_tmp/user.gz", "half");
    db_.execute(Sql("RENAME TABLE user TO user_away"));
    EXPECT_EQ(dump().status, 1);
    db_.execute(Sql("RENAME TABLE user_away TO user"));
    EXPECT_FALSE(fs::exists(project_ / "html/stats"));
    ASSERT_EQ(dump().status, 0);
    EXPECT_THAT(ids(published("user.gz")), ElementsAre("1"));
}

TEST_F(DbDump, AFailureLeavesWhatIsPublished) {
    user(1, 1, "one");
    ASSERT_EQ(dump().status, 0);
    project_.write("html/stats_tmp/tables.xml/x", "in the way");
    EXPECT_EQ(dump().status, 1);
    EXPECT_THAT(ids(published("user.gz")), ElementsAre("1"));
}

/// All ASCII and a byte of Latin-1, ends of CDATA sections, cut and overlong characters, U+FFFE, half a pair.
std::string hostile_text() {
    std::string text = "]]>]]]]>>&#0;<x>\xe9|\xc3|\xc0\xaf|\xef\xbf\xbe\xef\xbf\xbf|\xed\xa0\x80|\xf0\x9f\x98\x80]]";
    for (int c = 0; c < 128; ++c) text += static_cast<char>(c);
    return text;
}

TEST(DumpElements, WhateverPeopleWriteIsWellFormed) {
    const std::string bad = hostile_text();
    DumpedUser user;
    user.name = user.country = user.url = bad;
    DumpedHost host;
    host.p_vendor = host.p_model = host.os_name = host.os_version = host.misc = host.host_cpid = bad;
    DumpedTeam team;
    team.name = team.founder_name = team.url = team.name_html = team.description = team.country = bad;
    const std::string in_user = user_element(user, {.user_country = true, .user_url = true});
    for (const std::string& element : {in_user, host_element(host, true), team_element(team, in_user)}) {
        const auto fault =
            strict_xml_fault("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<all>\n" + element + "</all>\n");
        EXPECT_FALSE(fault) << "line " << fault->line << ": " << fault->what << "\n" << element;
    }
    EXPECT_THAT(in_user, HasSubstr("\xef\xbf\xbd|\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd||\xef\xbf\xbd"));
    EXPECT_THAT(in_user, HasSubstr("\xf0\x9f\x98\x80]]&#9;&#10;&#13; !"));
}

TEST_F(DbDump, HostileNamesLeaveFilesWellFormed) {
    user(1, 1, hostile_text()), host(1, 1, 5);
    Sql sql("UPDATE host SET misc=");
    db_.execute(sql << SqlText{hostile_text()});
    db_.execute(Sql("UPDATE app SET user_friendly_name=") << SqlText{hostile_text().substr(0, 100)});
    ASSERT_EQ(dump().status, 0);
    for (const char* file : {"user.gz", "user_0", "host", "tables.xml", "team", "user_deleted"}) {
        const auto fault = strict_xml_fault(published(file));
        EXPECT_FALSE(fault) << file << ", line " << fault->line << ": " << fault->what;
    }
}

TEST_F(DbDump, ASpecificationThatWasCutPublishesNothing) {
    user(1, 37.5, "one");
    ASSERT_EQ(dump().status, 0);
    const std::string users = published("user.gz");
    // It ends after its first enumeration; the tables behind it would be missing.
    const std::string text = kSpec;
    project_.write("spec.xml", text.substr(0, text.find("</enumeration>") + 14));
    const auto cut = dump();
    EXPECT_EQ(cut.status, 1);
    EXPECT_THAT(cut.err, HasSubstr("ends without </boinc_db_dump_spec>"));
    EXPECT_EQ(published("user.gz"), users);
    EXPECT_THAT(published("team"), HasSubstr("<teams>"));
}

TEST(DumpSpecification, WhatCannotBeIsNamed) {
    EXPECT_THROW(parse_dump_spec("<boinc_db_dump_spec></boinc_db_dump_spec>"), ConfigError);
    const DumpSpec spec = parse_dump_spec(
        "<output_dir>a</output_dir><final_output_dir>b</final_output_dir><enumeration><table>nonsense</table><filename>n</filename>"
        "</enumeration><enumeration><table>host</table><filename>../x</filename></enumeration><enumeration><table>host</table>"
        "<filename>h</filename><sort>total_credit</sort><output><recs_per_file>5</recs_per_file></output></enumeration>"
        "</boinc_db_dump_spec>");
    EXPECT_EQ(spec.warnings.size(), 3U);
    ASSERT_EQ(spec.enumerations.size(), 1U);
    EXPECT_THAT(spec.enumerations[0].outputs, IsEmpty());
}

}  // namespace
}  // namespace sluice::test
