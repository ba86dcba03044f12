// SPDX-License-Identifier: LGPL-3.0-or-later
// make_project, xadd, update_versions and create_account on a real database, as an admin types them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "config/db_settings.h"
#include "config/load.h"
#include "sluice/base/signing.h"
#include "sluice/db/database_maker.h"
#include "tests/db/project/make_project_command.h"
#include "tests/support/private_mariadb.h"
#include "tests/support/subprocess.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

using Table = std::vector<std::vector<std::string>>;

std::string text_of(const fs::path& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}
int mode_of(const fs::path& file) {
    struct stat info {};
    return ::stat(file.c_str(), &info) == 0 ? static_cast<int>(info.st_mode & 07777) : -1;
}

class ProjectSetup : public testing::Test {
  protected:
    ProjectSetup() : server_(PrivateMariaDb::shared()), root_(dir_ / "tiles") {
        // An installation: the programs that were built, and a scheduler that is only there.
        fs::create_directories(dir_ / "prefix/cgi-bin");
        fs::create_directory_symlink(SLUICE_BIN, dir_ / "prefix/bin");
        fs::permissions(dir_.write("prefix/cgi-bin/cgi", "#!/bin/sh\n"), fs::perms::owner_all);
        fs::permissions(dir_.write("prefix/cgi-bin/file_upload_handler", "#!/bin/sh\n"), fs::perms::owner_all);
    }
    ~ProjectSetup() override {
        Database db(server_.settings());
        db.execute(Sql("DROP DATABASE IF EXISTS tiles"));
        db.execute(Sql("DROP USER IF EXISTS 'tiler'@'localhost'"));
    }

    RunResult make_project(const std::vector<std::string>& more = {}) {
        std::vector<std::string> words = make_project_command(
            root_, dir_ / "prefix", {"--db_user", "root", "--db_socket", server_.socket().string()});
        if (std::ranges::find(more, "--db_passwd_file") == more.end())
            for (const std::string& word : {std::string("--db_passwd"), server_.settings().password})
                words.push_back(word);
        words.insert(words.end(), more.begin(), more.end());
        return run(words);
    }
    RunResult in_project(const std::vector<std::string>& words, const std::string& input = "") {
        RunOptions options;
        options.cwd = root_;
        options.unset = {"BOINC_PROJECT_DIR"};
        options.stdin_text = input;
        std::vector<std::string> full = words;
        full[0] = (root_ / "bin" / words[0]).string();
        return run(full, options);
    }
    Table rows(const Sql& query, int columns) {
        Database db(server_.settings("tiles"));
        return rows_of(db, query, columns);
    }
    void add_app(const std::string& more = "") {
        std::string text = text_of(root_ / "project.xml");
        text.insert(text.find("</boinc>"),
                    "<app><name>render</name><user_friendly_name>Render</user_friendly_name>" + more + "</app>\n");
        std::ofstream(root_ / "project.xml") << text;
    }

    PrivateMariaDb& server_;
    TempDir dir_;
    fs::path root_;
};

TEST_F(ProjectSetup, MakesProjectThatProgramsFindTheirWayIn) {
    const RunResult made = make_project({"--long_name", "Tiles & more"});
    ASSERT_EQ(made.status, 0) << made.err;
    const LoadedConfig loaded = load_config(root_);
    EXPECT_THAT(loaded.warnings, testing::IsEmpty());
    EXPECT_EQ(loaded.config.long_name, "Tiles & more");
    EXPECT_EQ(rows(Sql("SELECT COUNT(*) FROM platform WHERE name='x86_64-pc-linux-gnu'"), 1), (Table{{"1"}}));

    EXPECT_NO_THROW(PrivateKey::read(root_ / "keys/code_sign_private"));
    EXPECT_TRUE(PublicKey::read(root_ / "keys/upload_public")
                    .verify("x", PrivateKey::read(root_ / "keys/upload_private").sign("x")));
    EXPECT_EQ(mode_of(root_ / "keys/code_sign_private"), 0600);
    EXPECT_EQ(mode_of(root_ / "config.xml") & 0007, 0);
    EXPECT_EQ(mode_of(root_ / "upload"), 02770);
    EXPECT_FALSE(fs::is_symlink(root_ / "bin/start") || fs::is_symlink(root_ / "cgi-bin/cgi"));
    EXPECT_EQ(mode_of(root_ / "bin/start"), 0555);
    EXPECT_EQ(fs::read_symlink(root_ / "sluice"), dir_ / "prefix");
    EXPECT_THAT(in_project({"status"}).out, HasSubstr("feeder -d 3"));
}

TEST_F(ProjectSetup, SchemaIsTheOneOfTheRepository) {
    ASSERT_EQ(make_project().status, 0);
    const DbSettings reference = server_.create_project_database("reference");
    const auto columns = [&](const std::string& database) {
        Database db(server_.settings());
        Sql query(
            "SELECT table_name, column_name, column_type, column_key FROM information_schema.columns WHERE "
            "table_schema=");
        query << SqlText{database} << " ORDER BY 1, ordinal_position";
        return rows_of(db, query, 4);
    };
    EXPECT_GT(columns("reference").size(), 200U);
    EXPECT_EQ(columns("tiles"), columns("reference"));
    EXPECT_EQ(rows(Sql("SELECT shortname FROM consent_type ORDER BY id"), 1).size(), 2U);
}

TEST_F(ProjectSetup, NeverTouchesWhatIsThere) {
    ASSERT_EQ(make_project().status, 0);
    const std::string config = text_of(root_ / "config.xml"), key = text_of(root_ / "keys/upload_private");
    const RunResult again = make_project();
    EXPECT_EQ(again.status, 1);
    EXPECT_THAT(again.err, AllOf(HasSubstr("exists already"), HasSubstr("--root")));
    EXPECT_EQ(text_of(root_ / "config.xml"), config);

    fs::rename(root_, dir_ / "moved");
    const RunResult same_database = make_project();
    EXPECT_EQ(same_database.status, 1);
    EXPECT_THAT(same_database.err, AllOf(HasSubstr("--keep_db"), HasSubstr("--drop_db_first")));
    EXPECT_FALSE(fs::exists(root_));
    EXPECT_EQ(text_of(dir_ / "moved/keys/upload_private"), key);

    Database db(server_.settings("tiles"));
    db.execute(Sql("UPDATE platform SET user_friendly_name='mine' WHERE id=1"));
    EXPECT_EQ(make_project({"--keep_db"}).status, 0);
    EXPECT_EQ(rows(Sql("SELECT user_friendly_name FROM platform WHERE id=1"), 1), (Table{{"mine"}}));
    fs::remove_all(root_);
    EXPECT_EQ(make_project({"--drop_db_first"}).status, 0);
    EXPECT_NE(rows(Sql("SELECT user_friendly_name FROM platform WHERE id=1"), 1), (Table{{"mine"}}));
}

TEST_F(ProjectSetup, AFailureLeavesNothingBehind) {
    // The account exists on the server but may not use the new database.
    Database db(server_.settings());
    db.execute(Sql("CREATE USER 'tiler'@'localhost' IDENTIFIED BY 'pw'"));
    const RunResult refused = make_project({"--db_user", "tiler", "--db_passwd", "pw"});
    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.err, HasSubstr("--db_admin"));
    EXPECT_FALSE(fs::exists(root_));

    EXPECT_THAT(make_project({"--db_socket", "/nowhere/mysql.sock"}).err, HasSubstr("--db_socket"));
    EXPECT_THAT(make_project({"--db_admin", "nobody"}).err, HasSubstr("--db_admin and --db_admin_passwd_file"));
    EXPECT_EQ(make_project({"--install_from", "/nowhere"}).status, 1);
    EXPECT_EQ(make_project({"--name", "two words"}).status, 1);
    EXPECT_FALSE(fs::exists(root_));
    EXPECT_EQ(number_of(db, Sql("SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name='tiles'")), 0);
}

TEST_F(ProjectSetup, AdminAccountMakesDatabaseAndItsUser) {
    const RunResult made = make_project({"--db_admin", "root", "--db_admin_passwd", server_.settings().password,
                                         "--db_user", "tiler", "--db_passwd", ""});
    ASSERT_EQ(made.status, 0) << made.err;
    const ProjectConfig config = load_config(root_).config;
    EXPECT_EQ(config.db_user, "tiler");
    EXPECT_THAT(config.db_passwd, MatchesRegex("[0-9a-f]{24}"));
    ::setenv("MYSQL_UNIX_PORT", server_.socket().c_str(), 1);
    Database db(db_settings(config));
    EXPECT_GT(number_of(db, Sql("SELECT COUNT(*) FROM platform")), 8);
    // Nothing beyond its own database.
    EXPECT_THROW(db.query(Sql("SELECT COUNT(*) FROM mysql.user")), DbError);
}

// Each gave the account its own password, and the project of the other one was lost.
TEST_F(ProjectSetup, TwoAtOnceShareNoNewAccount) {
    Database holder(server_.settings());
    holder.query(Sql("SELECT GET_LOCK('sluice_make_project', 0)"));  // until both stand before the account
    std::vector<std::unique_ptr<Subprocess>> makers;
    const auto admin = dir_.write("admin", server_.settings().password + "\n").string();
    for (const char* name : {"first", "second"})
        makers.push_back(std::make_unique<Subprocess>(
            make_project_command(dir_ / name, dir_ / "prefix",
                                 {"--db_socket", server_.socket().string(), "--db_name", name, "--db_user", "both",
                                  "--db_admin", "root", "--db_admin_passwd_file", admin})));
    ASSERT_TRUE(eventually(
        [&] {
            return number_of(holder,
                             Sql("SELECT COUNT(*) FROM information_schema.processlist WHERE state='User lock'")) == 2;
        },
        120));
    holder.disconnect();
    int made = 0;
    for (std::size_t i = 0; i < makers.size(); ++i) {
        const auto ended = makers[i]->wait(120);
        ASSERT_TRUE(ended);
        const fs::path root = dir_ / (i == 0 ? "first" : "second");
        EXPECT_EQ(fs::exists(root), ended->status == 0) << ended->err;
        if (ended->status != 0) {
            EXPECT_THAT(ended->err, HasSubstr("choose another --db_user"));
            continue;
        }
        ++made;
        EXPECT_NO_THROW(Database(db_settings(load_config(root).config)).connect());
    }
    EXPECT_EQ(made, 1);
    holder.execute(Sql("DROP DATABASE IF EXISTS first"));
    holder.execute(Sql("DROP DATABASE IF EXISTS second"));
    holder.execute(Sql("DROP USER IF EXISTS 'both'@'localhost'"));
}

// It went on, as if it were alone.
TEST_F(ProjectSetup, AnotherThatHangsIsNotIgnored) {
    Database holder(server_.settings()), admin(server_.settings());
    holder.query(Sql("SELECT GET_LOCK('sluice_make_project', 0)"));
    DbSettings account = server_.settings();
    account.user = "late";
    std::string said;
    try {
        DatabaseMaker(admin, 0).grant("tiles", account, "localhost");
    } catch (const ConfigError& e) {
        said = e.what();
    }
    EXPECT_THAT(said, HasSubstr("Another make_project"));
    EXPECT_EQ(number_of(holder, Sql("SELECT COUNT(*) FROM mysql.user WHERE User='late'")), 0);
}

TEST_F(ProjectSetup, PasswordsMayStandInFiles) {
    const auto admin = dir_.write("admin", server_.settings().password + "\n"),
               user = dir_.write("user", "pass word\n");
    const RunResult made = make_project({"--db_admin", "root", "--db_admin_passwd_file", admin.string(), "--db_user",
                                         "filer", "--db_passwd_file", user.string()});
    ASSERT_EQ(made.status, 0) << made.err;
    EXPECT_EQ(load_config(root_).config.db_passwd, "pass word");
    fs::remove_all(root_);
    for (const std::string& bad : {(dir_ / "nowhere").string(), dir_.write("empty", "\n").string()}) {
        const RunResult refused = make_project({"--drop_db_first", "--db_passwd_file", bad});
        EXPECT_EQ(refused.status, 1);
        EXPECT_THAT(refused.err, HasSubstr(bad));
    }
}

TEST_F(ProjectSetup, ProgramsMayBeCopied) {
    ASSERT_EQ(make_project({"--copy", "--no_db"}).status, 0);
    EXPECT_FALSE(fs::is_symlink(root_ / "bin/start"));
    EXPECT_EQ(fs::read_symlink(root_ / "bin/stop"), "start");
    EXPECT_THAT(in_project({"status"}).out, HasSubstr("BOINC is DISABLED"));
}

TEST_F(ProjectSetup, XaddAddsWhatIsMissingAndNothingTwice) {
    ASSERT_EQ(make_project().status, 0);
    EXPECT_THAT(in_project({"xadd"}).out, Not(HasSubstr("Added")));
    EXPECT_FALSE(fs::exists(root_ / "reread_db"));
    add_app(
        "<n_size_classes>3</n_size_classes><weight>0.5</weight><homogeneous_redundancy>2</"
        "homogeneous_redundancy>");
    const RunResult added = in_project({"xadd"});
    EXPECT_EQ(added.status, 0) << added.err;
    EXPECT_THAT(added.out, HasSubstr("Added app render 'Render'"));
    EXPECT_TRUE(fs::exists(root_ / "reread_db"));
    EXPECT_EQ(rows(Sql("SELECT name, n_size_classes, weight, homogeneous_redundancy, min_avg_pfc FROM app"), 5),
              (Table{{"render", "3", "0.5", "2", "1"}}));
    EXPECT_THAT(in_project({"xadd"}).out,
                HasSubstr("Skipped app render: it exists; bin/app_settings shows and changes it\n"));
    EXPECT_EQ(rows(Sql("SELECT COUNT(*) FROM app"), 1), (Table{{"1"}}));

    std::ofstream(root_ / "project.xml") << "<boinc><app><name>x";
    const RunResult broken = in_project({"xadd"});
    EXPECT_EQ(broken.status, 1);
    EXPECT_THAT(broken.err, HasSubstr("project.xml"));
}

TEST_F(ProjectSetup, XaddKeepsNamesAndMinVersionInStep) {
    ASSERT_EQ(make_project().status, 0);
    const auto describe = [&](const std::string& app, const std::string& platform) {
        std::ofstream(root_ / "project.xml")
            << "<boinc><app><name>render</name>" << app << "</app><platform><name>windows_x86_64</name>" << platform
            << "</platform></boinc>";
    };
    describe("<user_friendly_name>Render</user_friendly_name><weight>2</weight>", "");
    ASSERT_EQ(in_project({"xadd"}).status, 0);
    fs::remove(root_ / "reread_db");
    describe("<user_friendly_name>It's \\ better</user_friendly_name><min_version>105</min_version><weight>3</weight>",
             "<user_friendly_name>Windows, 64 bit</user_friendly_name>");
    const RunResult changed = in_project({"xadd"});
    EXPECT_EQ(changed.status, 0) << changed.err;
    EXPECT_THAT(changed.out,
                AllOf(HasSubstr("Updated app render"), HasSubstr("Updated platform windows_x86_64 'Windows, 64 bit'")));
    EXPECT_TRUE(fs::exists(root_ / "reread_db"));
    const Sql apps("SELECT user_friendly_name, min_version, weight FROM app");
    const Sql platforms("SELECT user_friendly_name FROM platform WHERE name='windows_x86_64'");
    EXPECT_EQ(rows(apps, 3), (Table{{"It's \\ better", "105", "2"}}));
    EXPECT_EQ(rows(platforms, 1), (Table{{"Windows, 64 bit"}}));
    // What project.xml does not say stays.
    describe("", "");
    EXPECT_THAT(in_project({"xadd"}).out, Not(HasSubstr("Updated")));
    EXPECT_EQ(rows(apps, 3), (Table{{"It's \\ better", "105", "2"}}));
}

TEST_F(ProjectSetup, XaddRefusesAppThatIsListedTwiceOtherwise) {
    ASSERT_EQ(make_project().status, 0);
    add_app();
    ASSERT_EQ(in_project({"xadd"}).status, 0);
    std::string text = text_of(root_ / "project.xml");
    text.insert(text.find("</boinc>"),
                "<app><name>render</name><user_friendly_name>Better</user_friendly_name></app>\n");
    std::ofstream(root_ / "project.xml") << text;
    const RunResult result = in_project({"xadd"});
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, HasSubstr("<app> render is listed twice"));
    EXPECT_THAT(result.out, Not(HasSubstr("Updated")));
}

class AppVersions : public ProjectSetup {
  protected:
    void SetUp() override {
        ASSERT_EQ(make_project().status, 0);
        add_app();
        ASSERT_EQ(in_project({"xadd"}).status, 0);
        fs::remove(root_ / "reread_db");
    }
    void lay_out(const std::string& name, const std::string& text) { dir_.write("tiles/apps/render/" + name, text); }
};

TEST_F(AppVersions, MayStandInAnotherFolder) {
    dir_.write("elsewhere/render/1.0/x86_64-pc-linux-gnu/render_1.0", "program");
    EXPECT_THAT(in_project({"update_versions", "--noconfirm"}).out, Not(HasSubstr("1 app version(s) added")));
    std::string config = text_of(root_ / "config.xml");
    const std::string old = (root_ / "apps").string() + "</app_dir>";
    ASSERT_NE(config.find(old), std::string::npos);
    config.replace(config.find(old), old.size(), (dir_ / "elsewhere").string() + "</app_dir>");
    std::ofstream(root_ / "config.xml") << config;
    EXPECT_THAT(in_project({"update_versions", "--noconfirm"}).out, HasSubstr("1 app version(s) added"));
}

TEST_F(AppVersions, AreSignedCopiedAndAddedOnce) {
    lay_out("1.0/x86_64-pc-linux-gnu/render_1.0", "program API_VERSION_7.20.5 end");
    lay_out("1.0/x86_64-pc-linux-gnu__mt/render_1.0_mt", "parallel");
    lay_out("1.0/x86_64-pc-linux-gnu__mt/version.xml", "<version><beta/></version>");
    // A cron job without --noconfirm looked as if it had worked.
    const RunResult unanswered = in_project({"update_versions"});
    EXPECT_EQ(unanswered.status, 1);
    EXPECT_THAT(unanswered.err, HasSubstr("--noconfirm"));
    EXPECT_THAT(unanswered.out, HasSubstr("0 app version(s) added"));
    EXPECT_EQ(in_project({"update_versions"}, "n\nn\n").status, 0);
    const RunResult added = in_project({"update_versions", "--noconfirm"});
    ASSERT_EQ(added.status, 0) << added.err;
    EXPECT_THAT(added.out, HasSubstr("2 app version(s) added"));
    EXPECT_EQ(rows(Sql("SELECT v.version_num, p.name, v.plan_class, v.beta, v.deprecated FROM app_version v "
                       "JOIN platform p "
                       "ON p.id=v.platformid ORDER BY v.id"),
                   5),
              (Table{{"100", "x86_64-pc-linux-gnu", "", "0", "0"}, {"100", "x86_64-pc-linux-gnu", "mt", "1", "0"}}));
    const std::string doc = rows(Sql("SELECT xml_doc FROM app_version ORDER BY id"), 1)[0][0];
    EXPECT_THAT(
        doc, AllOf(HasSubstr("<name>render_1.0</name>"),
                   HasSubstr("<url>http://127.0.0.1/tiles/download/render_1.0</url>"), HasSubstr("<nbytes>30</nbytes>"),
                   HasSubstr("<api_version>7.20.5</api_version>"), HasSubstr("<main_program/>")));
    EXPECT_EQ(text_of(root_ / "download/render_1.0"), "program API_VERSION_7.20.5 end");
    EXPECT_TRUE(fs::exists(root_ / "reread_db"));

    // The signature in the document is what a client checks.
    const std::size_t begin = doc.find("<file_signature>") + 16;
    const std::string signature = doc.substr(begin, doc.find("</file_signature>") - begin);
    EXPECT_TRUE(PublicKey::read(root_ / "keys/code_sign_public").verify("program API_VERSION_7.20.5 end", signature));

    EXPECT_THAT(in_project({"update_versions", "--noconfirm"}).out,
                HasSubstr("0 app version(s) added, 2 in the database"));
    EXPECT_EQ(rows(Sql("SELECT COUNT(*) FROM app_version"), 1), (Table{{"2"}}));
}

TEST_F(AppVersions, AnUnknownPlanClassGetsAWarning) {
    lay_out("1.0/x86_64-pc-linux-gnu__mt/render_1.0_mt", "parallel");
    lay_out("1.0/x86_64-pc-linux-gnu__cuda_femri/render_1.0_cuda", "gpu");
    RunResult result = in_project({"update_versions", "--noconfirm"});
    EXPECT_EQ(result.status, 0);
    EXPECT_THAT(result.out, HasSubstr("2 app version(s) added"));
    EXPECT_THAT(result.err, AllOf(HasSubstr("__cuda_femri: there is no plan class 'cuda_femri', so no host gets it: "
                                            "built in are mt, nci, sse3, "),
                                  HasSubstr(" cuda_fermi,"), Not(HasSubstr("plan class 'mt'"))));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    dir_.write("tiles/plan_class_spec.xml",
               "<plan_classes><plan_class><name>big</name></plan_class><plan_class><name>wide</name></plan_class>"
               "</plan_classes>");
    lay_out("1.1/x86_64-pc-linux-gnu__wide/render_1.1_wide", "wide");
    lay_out("1.1/x86_64-pc-linux-gnu__mt/render_1.1_mt", "parallel");
    result = in_project({"update_versions", "--noconfirm"});
    EXPECT_THAT(result.out, HasSubstr("2 app version(s) added"));
    EXPECT_THAT(result.err,
                AllOf(HasSubstr("no plan class 'mt', so no host gets it: plan_class_spec.xml has big, wide"),
                      Not(HasSubstr("plan class 'wide'"))));
}

TEST_F(AppVersions, AVersionOfManyFilesNeedsRoom) {
    Database db(server_.settings("tiles"));
    db.execute(Sql("ALTER TABLE app_version MODIFY xml_doc blob"));
    const std::string folder = "1.0/x86_64-pc-linux-gnu/";
    std::string listed = "<file><physical_name>render_1.0</physical_name><main_program/></file>";
    lay_out(folder + "render_1.0", "program");
    for (int i = 0; i < 140; ++i) {
        const std::string name = "data_of_the_first_version_" + std::to_string(i);
        lay_out(folder + name, "data");
        listed += "<file><physical_name>" + name + "</physical_name></file>";
    }
    lay_out(folder + "version.xml", "<version>" + listed + "</version>");
    const RunResult refused = in_project({"update_versions", "--noconfirm"});
    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.err, AllOf(HasSubstr("with 141 files: "), HasSubstr("a blob of at most 65535 bytes"),
                                   HasSubstr("ALTER TABLE app_version MODIFY xml_doc mediumblob;")));
    EXPECT_EQ(rows(Sql("SELECT COUNT(*) FROM app_version"), 1), (Table{{"0"}}));
    db.execute(Sql("ALTER TABLE app_version MODIFY xml_doc mediumblob"));
    const RunResult added = in_project({"update_versions", "--noconfirm"});
    EXPECT_EQ(added.status, 0) << added.err;
    const std::string doc = rows(Sql("SELECT xml_doc FROM app_version"), 1)[0][0];
    EXPECT_GT(doc.size(), 65535u);
    EXPECT_TRUE(doc.ends_with("</app_version>\n"));
}

TEST_F(AppVersions, Level0WarnsOfAForeignGpuClass) {
    dir_.write("tiles/plan_class_spec.xml",
               "<plan_classes><plan_class><name>fastgpu</name><gpu_type>nvidia</gpu_type></plan_class></plan_classes>");
    lay_out("1.0/x86_64-pc-linux-gnu__fastgpu/render_1.0_gpu", "gpu");
    EXPECT_THAT(in_project({"update_versions", "--noconfirm"}).err, testing::IsEmpty()) << "level 1";
    std::string config = text_of(root_ / "config.xml");
    const std::string level = "<compat_level>1</compat_level>";
    ASSERT_NE(config.find(level), std::string::npos);
    config.erase(config.find(level), level.size());
    std::ofstream(root_ / "config.xml") << config;
    lay_out("1.1/x86_64-pc-linux-gnu__fastgpu/render_1.1_gpu", "gpu");
    const RunResult result = in_project({"update_versions", "--noconfirm"});
    EXPECT_THAT(result.out, HasSubstr("1 app version(s) added"));
    EXPECT_THAT(result.err, AllOf(HasSubstr("plan class 'fastgpu' is for the NVIDIA GPU, but its name says CPU"),
                                  HasSubstr("<compat_level>1</compat_level>")));
}

TEST_F(AppVersions, AreAskedFor) {
    lay_out("1.0/x86_64-pc-linux-gnu/render_1.0", "program");
    EXPECT_THAT(in_project({"update_versions"}, "n\n").out,
                AllOf(HasSubstr("(y/n)"), HasSubstr("0 app version(s) added")));
    EXPECT_FALSE(fs::exists(root_ / "download/render_1.0"));
    const RunResult unanswered = in_project({"update_versions"}, "");
    EXPECT_THAT(unanswered.out, HasSubstr("0 app version(s) added"));
    EXPECT_THAT(unanswered.err, HasSubstr("use --noconfirm"));
    EXPECT_EQ(unanswered.status, 1) << "a script must not believe that they were added";
    EXPECT_THAT(in_project({"update_versions"}, "y\n").out, HasSubstr("1 app version(s) added"));
}

TEST_F(AppVersions, ABrokenOneDoesNotStopTheOthers) {
    lay_out("1.0/no-such-platform/render_a", "a");
    lay_out("1.0/windows_x86_64/one", "1");
    lay_out("1.0/windows_x86_64/two", "2");
    lay_out("1.0/x86_64-pc-linux-gnu/render_1.0", "good");
    dir_.write("tiles/apps/unknown/1.0/windows_x86_64/p", "p");
    const RunResult result = in_project({"update_versions", "--noconfirm"});
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.out, HasSubstr("1 app version(s) added, 0 in the database already, 3 failed"));
    EXPECT_THAT(result.err, AllOf(HasSubstr("no platform 'no-such-platform'"), HasSubstr("main_program"),
                                  HasSubstr("no app 'unknown'"), HasSubstr("xadd")));
    // A changed file under an old name would never reach clients that have the old one.
    lay_out("1.1/x86_64-pc-linux-gnu/render_1.0", "changed");
    EXPECT_THAT(in_project({"update_versions", "--noconfirm"}).err, HasSubstr("another name"));
    EXPECT_EQ(text_of(root_ / "download/render_1.0"), "good");
    // Below the mount point of a file system that is away nobody finds it.
    fs::rename(root_ / "download", root_ / "away");
    fs::create_directory(root_ / "download");
    lay_out("1.2/x86_64-pc-linux-gnu/render_1.2", "new");
    EXPECT_THAT(in_project({"update_versions", "--noconfirm"}).err, HasSubstr("is a file system not mounted?"));
    EXPECT_FALSE(fs::exists(root_ / "download/render_1.2"));
}

TEST_F(AppVersions, FilesOfSubfoldersKeepTheirNames) {
    // A platform whose name holds the separator, too.
    const std::string folder = "1.0/x86_64-pc-freebsd__sysv__mt/";
    lay_out(folder + "render_1.0", "program");
    lay_out(folder + "lib/colours_1.0", "data");
    lay_out(folder + "lib/unlisted", "data");
    lay_out(
        folder + "version.xml",
        "<version><file><physical_name>render_1.0</physical_name><main_program/></file><oddity/>"
        "<file><physical_name>lib/colours_1.0</physical_name><logical_name>colours</logical_name></file></version>");
    const RunResult result = in_project({"update_versions", "--noconfirm"});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr("<oddity> is unknown in <version> and ignored"));
    EXPECT_EQ(text_of(root_ / "download/lib/colours_1.0"), "data");
    EXPECT_FALSE(fs::exists(root_ / "download/lib/unlisted"));
    const Table versions = rows(Sql("SELECT plan_class, xml_doc FROM app_version JOIN platform p ON p.id=platformid "
                                    "WHERE p.name='x86_64-pc-freebsd__sysv'"),
                                2);
    ASSERT_EQ(versions.size(), 1U);
    EXPECT_EQ(versions[0][0], "mt");
    EXPECT_THAT(versions[0][1],
                AllOf(HasSubstr("<name>lib/colours_1.0</name>\n<url>http://127.0.0.1/tiles/download/lib/"
                                "colours_1.0</url>"),
                      HasSubstr("<file_name>lib/colours_1.0</file_name>\n<open_name>colours</open_name>")));
}

TEST_F(ProjectSetup, UpstreamsOptionsAreUnderstood) {
    const RunResult made =
        run({SLUICE_BIN "/make_project", "--no_query", "--no_db", "--project_root", root_.string(), "--project_host",
             "tiles.example.org", "--install_from", (dir_ / "prefix").string(), "tiles", "Tiles@home"});
    ASSERT_EQ(made.status, 0) << made.err;
    const std::string config = text_of(root_ / "config.xml");
    EXPECT_THAT(config, HasSubstr("<master_url>http://tiles.example.org/tiles/</master_url>"));
    EXPECT_THAT(config, HasSubstr("<long_name>Tiles@home</long_name>"));
}

// boinc-server-docker: files in an image, the database at first start.
TEST_F(ProjectSetup, DatabaseMayBeMadeLater) {
    ASSERT_EQ(make_project({"--no_db"}).status, 0);
    const auto only_db = [&](const std::vector<std::string>& more) {
        std::vector<std::string> words{SLUICE_BIN "/make_project", "--only_db", root_.string(), "--db_socket",
                                       server_.socket()};
        words.insert(words.end(), more.begin(), more.end());
        return run(words);
    };
    Database db(server_.settings());
    const Sql tables("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema='tiles'");
    EXPECT_EQ(number_of(db, tables), 0);
    ASSERT_EQ(only_db({}).status, 0);
    EXPECT_GT(number_of(db, tables), 20);
    EXPECT_EQ(number_of(db, Sql("SELECT COUNT(*) FROM tiles.platform WHERE name='x86_64-pc-linux-gnu'")), 1);
    const RunResult again = only_db({});
    EXPECT_EQ(again.status, 1);
    EXPECT_THAT(again.err, HasSubstr("has tables already"));
    EXPECT_EQ(only_db({"--keep_db"}).status, 0);
}

TEST_F(ProjectSetup, PreviousProjectIsDeletedOnlyIfSaid) {
    ASSERT_EQ(make_project({"--no_db"}).status, 0);
    EXPECT_EQ(make_project({"--no_db"}).status, 1);
    std::ofstream(root_ / "mine") << "x";
    ASSERT_EQ(make_project({"--no_db", "--delete_prev_inst"}).status, 0);
    EXPECT_FALSE(fs::exists(root_ / "mine"));
    EXPECT_TRUE(fs::exists(root_ / "config.xml"));
    EXPECT_FALSE(fs::exists(dir_ / ".tiles.previous"));
}

// Other programs have a config.xml, too.
TEST_F(ProjectSetup, WhatIsNoProjectIsNotDeleted) {
    const auto refused = [&] {
        const RunResult r = make_project({"--no_db", "--delete_prev_inst"});
        return r.status == 1 && r.err.find("is no project") != std::string::npos;
    };
    dir_.write("tiles/config.xml", "<configuration/>");
    EXPECT_TRUE(refused());
    for (const char* folder : {"bin", "cgi-bin", "keys", "html"}) fs::create_directory(root_ / folder);
    EXPECT_TRUE(refused());
    std::ofstream(root_ / "config.xml") << "<boinc><config><db_name>tiles</db_name></config></boinc>";
    fs::remove(root_ / "keys");
    EXPECT_TRUE(refused());
    fs::create_directory(root_ / "keys");
    EXPECT_FALSE(refused());
    EXPECT_TRUE(fs::exists(root_ / "upload"));
}

TEST_F(ProjectSetup, PreviousProjectComesBackAfterAFailure) {
    ASSERT_EQ(make_project().status, 0);
    const std::string key = text_of(root_ / "keys/code_sign_private");
    // The account may make no database: it fails when the folder is there.
    Database db(server_.settings());
    db.execute(Sql("CREATE USER 'tiler'@'localhost' IDENTIFIED BY 'pw'"));
    const RunResult failed =
        make_project({"--delete_prev_inst", "--db_name", "other", "--db_user", "tiler", "--db_passwd", "pw"});
    EXPECT_EQ(failed.status, 1) << failed.out;
    EXPECT_EQ(text_of(root_ / "keys/code_sign_private"), key);
    EXPECT_FALSE(fs::exists(dir_ / ".tiles.previous"));
    // As one that was killed leaves it.
    fs::rename(root_, dir_ / ".tiles.previous");
    EXPECT_THAT(make_project({"--delete_prev_inst", "--keep_db"}).err, HasSubstr("Rename it to " + root_.string()));
    EXPECT_EQ(text_of(dir_ / ".tiles.previous/keys/code_sign_private"), key);
}

TEST_F(ProjectSetup, PreviousProjectOutlivesARefusal) {
    ASSERT_EQ(make_project().status, 0);
    const std::string key = text_of(root_ / "keys/code_sign_private");
    EXPECT_THAT(make_project({"--delete_prev_inst"}).err, HasSubstr("has tables already"));
    EXPECT_THAT(make_project({"--delete_prev_inst", "--no_db", "--install_from", "/nowhere"}).err,
                HasSubstr("/nowhere"));
    EXPECT_EQ(text_of(root_ / "keys/code_sign_private"), key);
    ASSERT_EQ(make_project({"--delete_prev_inst", "--drop_db_first"}).status, 0);
    EXPECT_NE(text_of(root_ / "keys/code_sign_private"), key);
}

// As when it is started by hand: bin/start knows nothing of it.
TEST_F(ProjectSetup, ProjectOfARunningProgramIsNotDeleted) {
    ASSERT_EQ(make_project().status, 0);
    RunOptions there;
    there.cwd = root_;
    there.unset = {"BOINC_PROJECT_DIR"};
    Subprocess daemon({(root_ / "bin/batches").string()}, there);
    ASSERT_TRUE(daemon.wait_for_output("Running"));
    const RunResult refused = make_project({"--no_db", "--delete_prev_inst"});
    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.err, HasSubstr("run"));
    EXPECT_TRUE(fs::exists(root_ / "keys/code_sign_private"));
    daemon.send_signal(SIGTERM);
    ASSERT_TRUE(daemon.wait());
    EXPECT_EQ(make_project({"--no_db", "--delete_prev_inst"}).status, 0);
}

// An account without a password would be everybody's.
TEST_F(ProjectSetup, LaterDatabaseWantsAPasswordForItsUser) {
    ASSERT_EQ(make_project({"--no_db", "--db_user", "tiler", "--db_passwd", ""}).status, 0);
    const RunResult refused =
        run({SLUICE_BIN "/make_project", "--only_db", root_.string(), "--db_socket", server_.socket().string(),
             "--db_admin", "root", "--db_admin_passwd", server_.settings().password});
    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.err, HasSubstr("<db_passwd>"));
    Database db(server_.settings());
    EXPECT_EQ(number_of(db, Sql("SELECT COUNT(*) FROM mysql.user WHERE user='tiler'")), 0);
}

TEST_F(ProjectSetup, AccountsAreMadeOnce) {
    ASSERT_EQ(make_project().status, 0);
    const RunResult made = in_project({"create_account", "--email", "me@example.org", "--name", "O'Neil \\ \"x\""});
    ASSERT_EQ(made.status, 0) << made.err;
    EXPECT_THAT(made.out, MatchesRegex("[0-9a-f]{32}\n"));
    const Table users = rows(Sql("SELECT authenticator, name, email_addr, teamid, send_email FROM user"), 5);
    ASSERT_EQ(users.size(), 1U);
    EXPECT_THAT(users[0], ElementsAre(made.out.substr(0, 32), "O'Neil \\ \"x\"", "me@example.org", "0", "1"));

    const RunResult again = in_project({"create_account", "--email", "me@example.org", "--name", "other"});
    EXPECT_EQ(again.status, 0);
    EXPECT_EQ(again.out, made.out);
    EXPECT_THAT(again.err, HasSubstr("already"));
    const RunResult same_name =
        in_project({"create_account", "--email", "you@example.org", "--name", "O'Neil \\ \"x\""});
    EXPECT_EQ(same_name.status, 1);
    EXPECT_THAT(same_name.err, HasSubstr("--name"));
    EXPECT_EQ(in_project({"create_account", "--email", "nonsense"}).status, 1);
    EXPECT_EQ(in_project({"create_account"}).status, 1);
    EXPECT_EQ(in_project({"create_account", "--email", "b@example.org", "--password"}, "secret\n").status, 0);
    EXPECT_EQ(rows(Sql("SELECT COUNT(*) FROM user"), 1), (Table{{"2"}}));
}

}  // namespace
}  // namespace sluice::test
