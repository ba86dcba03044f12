// SPDX-License-Identifier: LGPL-3.0-or-later
#include "tests/support/private_mariadb.h"

#include <fmt/core.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "sluice/base/files.h"
#include "sluice/base/hash.h"
#include "tests/support/free_port.h"
#include "tests/support/paths.h"
#include "tests/support/private_mysql.h"

namespace sluice::test {
namespace {

/// mariadbd refuses to run as root unless told so.
std::vector<std::string> as_this_user() {
    return ::geteuid() == 0 ? std::vector<std::string>{"--user=root"} : std::vector<std::string>{};
}

/// A file that only this user can read, from its first byte on.
void write_private(const std::filesystem::path& file, const std::string& text) {
    std::ofstream out(file);
    std::filesystem::permissions(file, std::filesystem::perms(0600));
    if (!(out << text).flush()) throw std::runtime_error("can't write " + file.string());
}

std::string found_program(const std::string& name) {
    for (const char* folder : {"/usr/sbin/", "/usr/bin/", "/usr/local/sbin/", "/usr/local/bin/"})
        if (::access((folder + name).c_str(), X_OK) == 0) return folder + name;
    throw std::runtime_error(name + " is missing: install mariadb-server");
}

std::string accounts_of_mariadb(const std::string& password) {
    std::string text =
        "DELETE FROM mysql.global_priv WHERE User NOT IN ('root','mariadb.sys') OR Host NOT IN ('localhost','127.0.0.1');\n"
        "FLUSH PRIVILEGES;\n";
    for (const char* host : {"localhost", "127.0.0.1"})
        text += fmt::format(
            "CREATE OR REPLACE USER root@'{0}' IDENTIFIED BY '{1}';\nGRANT ALL ON *.* TO root@'{0}' WITH GRANT OPTION;\n",
            host, password);
    return text;
}

const std::string& password_of_this_process() {
    static const std::string password = random_hex(16);
    return password;
}

}  // namespace

PrivateMariaDb::PrivateMariaDb(MariaDbOptions options)
    : options_(std::move(options)), mysql_(mysql::folder()), password_(password_of_this_process()) {
    if (options_.tcp) port_ = options_.port != 0 ? options_.port : free_port();
    const RightsToAllFiles rights;
    // Three accounts connect, as to Debian's server: the password keeps others out, and the data folder is closed.
    if (accounts_apart()) std::filesystem::permissions(folder_.path(), std::filesystem::perms(0711));
    give(folder_.path(), Role::kDatabase);
    if (options_.copy_of.empty()) {
        mysql_.empty() ? make_data_folder() : make_data_folder_of_mysql();
    } else {
        std::filesystem::copy(options_.copy_of, data(), std::filesystem::copy_options::recursive);
        give(data(), Role::kDatabase);
    }
    write_accounts();
    start(options_.at_first);
}

PrivateMariaDb::~PrivateMariaDb() {
    // Nothing in the data folder is worth a clean shutdown.
    if (server_) server_->send_signal(SIGKILL);
}

PrivateMariaDb& PrivateMariaDb::shared() {
    static PrivateMariaDb server;
    return server;
}

/// A server that starts removes temporary tables from its tmpdir, whosever they are: each needs its own.
std::string PrivateMariaDb::temporary_folder() const { return folder_of_server("tmp"); }

std::string PrivateMariaDb::folder_of_server(const std::string& name) const {
    const RightsToAllFiles rights;
    if (std::filesystem::create_directories(folder_ / name)) give(folder_ / name, Role::kDatabase);
    return (folder_ / name).string();
}

void PrivateMariaDb::make_data_folder() const {
    std::vector<std::string> args = {found_program("mariadb-install-db"),
                                     "--no-defaults",
                                     "--force",  // the machine's name need not be known to any resolver
                                     "--datadir=" + (folder_ / "data").string(),
                                     "--auth-root-authentication-method=normal",
                                     "--skip-test-db",
                                     "--tmpdir=" + temporary_folder(),
                                     "--innodb-log-file-size=8M",
                                     "--innodb-autoextend-increment=1"};
    for (const auto& more : as_this_user()) args.push_back(more);
    const RunResult result = run(args, {.run_as = Role::kDatabase}, 300);
    if (result.status != 0) throw std::runtime_error("mariadb-install-db failed: " + result.out + result.err);
}

void PrivateMariaDb::make_data_folder_of_mysql() const {
    folder_of_server("data");
    folder_of_server("data/mysql");
    std::vector<std::string> args = {(mysql_ / "mysqld").string(),
                                     "--no-defaults",
                                     "--bootstrap",
                                     "--basedir=" + mysql_.string(),
                                     "--lc-messages-dir=" + (mysql_ / "share").string(),
                                     "--datadir=" + data().string(),
                                     "--tmpdir=" + temporary_folder(),
                                     "--innodb-log-file-size=8M"};
    for (const auto& more : as_this_user()) args.push_back(more);
    RunOptions options = surroundings();
    options.stdin_text = mysql::tables_of_server(mysql_);
    const RunResult result = run(args, options, 300);
    if (result.status != 0) throw std::runtime_error("mysqld --bootstrap failed: " + result.out + result.err);
}

/// Run by the server before it listens: there is no moment in which an account has no password.
void PrivateMariaDb::write_accounts() const {
    write_private(folder_ / "accounts.sql",
                  mysql_.empty() ? accounts_of_mariadb(password_) : mysql::accounts(password_));
    write_private(folder_ / "client.cnf",
                  fmt::format("[client]\nuser=root\npassword={}\nsocket={}\n", password_, socket().string()));
    give(folder_ / "accounts.sql", Role::kDatabase);
    folder_of_server("files");
}

std::vector<std::string> PrivateMariaDb::command(const std::vector<std::string>& more) const {
    std::vector<std::string> args = {
        mysql_.empty() ? found_program("mariadbd") : (mysql_ / "mysqld").string(), "--no-defaults",
        "--datadir=" + data().string(), "--socket=" + socket().string(), "--pid-file=" + (folder_ / "pid").string(),
        "--log-error=" + (folder_ / "error.log").string(), "--tmpdir=" + temporary_folder(), "--skip-name-resolve",
        // INTO OUTFILE and LOAD_FILE() reach an empty folder only. (MySQL's word NULL is not known to MariaDB.)
        "--secure-file-priv=" + (folder_ / "files").string(), "--innodb-buffer-pool-size=64M",
        "--innodb-log-file-size=8M", "--innodb-autoextend-increment=1", "--innodb-flush-method=nosync",
        "--innodb-buffer-pool-dump-at-shutdown=0", "--innodb-buffer-pool-load-at-startup=0", "--max-connections=200",
        "--innodb-flush-log-at-trx-commit=" + std::to_string(options_.flush_log_at_trx_commit)};
    if (!mysql_.empty())
        args.insert(args.end(), {"--basedir=" + mysql_.string(), "--lc-messages-dir=" + (mysql_ / "share").string()});
    if (options_.copy_of.empty()) args.push_back("--init-file=" + (folder_ / "accounts.sql").string());
    if (options_.tcp) {
        args.insert(args.end(), {"--bind-address=127.0.0.1", "--port=" + std::to_string(port_)});
    } else {
        args.emplace_back("--skip-networking");
    }
    for (const auto& list : {as_this_user(), options_.more, more}) args.insert(args.end(), list.begin(), list.end());
    return args;
}

RunOptions PrivateMariaDb::surroundings() const {
    RunOptions options;
    options.run_as = Role::kDatabase;
    if (!mysql_.empty()) options.env["LD_LIBRARY_PATH"] = mysql_.string();  // its libaio
    if (!options_.scripts.empty()) {
        const char* path = std::getenv("PATH");
        options.env["PATH"] = options_.scripts.string() + ":" + (path != nullptr ? path : "/usr/bin:/bin");
    }
    return options;
}

void PrivateMariaDb::begin_to_start(const std::vector<std::string>& more) {
    if (running()) return;
    const RightsToAllFiles rights;
    std::error_code none;
    std::filesystem::remove(socket(), none);
    ::setenv("MYSQL_UNIX_PORT", socket().c_str(), 1);
    server_ = std::make_unique<Subprocess>(command(more), surroundings());
}

std::string PrivateMariaDb::run_to_its_end(const std::vector<std::string>& more) const {
    const RunResult result = run(command(more), surroundings(), 300);
    return result.out + result.err;
}

void PrivateMariaDb::start(const std::vector<std::string>& more) {
    begin_to_start(more);
    Database db(settings());
    const bool up = eventually(
        [&] {
            if (!server_->running()) return true;
            try {
                db.connect();
                return true;
            } catch (const DbError&) {
                return false;
            }
        },
        300);
    if (!up || !db.connected()) throw std::runtime_error("mariadbd did not start: " + log());
}

void PrivateMariaDb::stop() {
    server_->send_signal(SIGTERM);
    if (!server_->wait(300)) throw std::runtime_error("mariadbd does not stop: " + log());
}

void PrivateMariaDb::kill() {
    server_->send_signal(SIGKILL);
    server_->wait(300);
}

bool PrivateMariaDb::running() { return server_ && server_->running(); }
pid_t PrivateMariaDb::pid() const { return server_->pid(); }
std::filesystem::path PrivateMariaDb::socket() const { return folder_ / "sock"; }

std::string PrivateMariaDb::log() const {
    const RightsToAllFiles rights;
    std::ifstream in(folder_ / "error.log");
    return {std::istreambuf_iterator<char>(in), {}};
}

DbSettings PrivateMariaDb::settings(const std::string& database) const {
    const std::string host = options_.reached_at.empty() ? "localhost" : options_.reached_at;
    return {.host = host, .name = database, .user = "root", .password = password_};
}

std::string PrivateMariaDb::config_elements(const std::string& database) const {
    return fmt::format(
        "<db_name>{}</db_name>\n<db_user>root</db_user>\n<db_passwd>{}</db_passwd>\n<db_host>{}</db_host>\n", database,
        password_, options_.db_host.empty() ? settings().host : options_.db_host);
}

std::vector<std::string> PrivateMariaDb::client_command() const {
    return {"mariadb", "--defaults-file=" + (folder_ / "client.cnf").string()};
}

void PrivateMariaDb::admit_web_server() const {
    if (::geteuid() != 0) return;
    const passwd* web = ::getpwnam("www-data");
    if (web == nullptr || ::chown(folder_.path().c_str(), static_cast<uid_t>(-1), web->pw_gid) != 0 ||
        ::chmod(folder_.path().c_str(), 0710) != 0)
        throw std::runtime_error("can't let the web server's group into " + folder_.path().string());
}

DbSettings PrivateMariaDb::create_project_database(const std::string& name) {
    const std::string text = "drop database if exists `" + name + "`; create database `" + name +
                             "` character set utf8mb4 collate utf8mb4_unicode_ci";
    std::vector<std::string> client = client_command();
    client.insert(client.end(), {"-e", text});
    const RunResult made = run(client);
    if (made.status != 0) throw std::runtime_error("create database: " + made.err);
    load(name, std::filesystem::path(sluice::test::source_dir()) / "db/schema.sql");
    if (!mysql_.empty()) run_statements(name, mysql::views_of_numbers());
    return settings(name);
}

void PrivateMariaDb::load(const std::string& database, const std::filesystem::path& sql_file) const {
    std::ifstream in(sql_file);
    if (!in) throw std::runtime_error("can't read " + sql_file.string());
    run_statements(database, {std::istreambuf_iterator<char>(in), {}});
}

void PrivateMariaDb::run_statements(const std::string& database, const std::string& sql) const {
    std::vector<std::string> client = client_command();
    client.push_back(database);
    const RunResult done = run(client, {.stdin_text = sql});
    if (done.status != 0) throw std::runtime_error("statements for " + database + ": " + done.err);
}

// Only tables that were used: each TRUNCATE waits for the disk, and most tests touch a few tables of thirty.
StoppedServer::StoppedServer(const PrivateMariaDb& server) : pid_(server.pid()) {
    ::kill(pid_, SIGSTOP);
    const auto is_stopped = [](const fs::directory_entry& thread) {
        return read_file(thread.path() / "stat").value_or("").find(") T") != std::string::npos;
    };
    const fs::path threads = "/proc/" + std::to_string(pid_) + "/task";
    while (!std::ranges::all_of(fs::directory_iterator(threads), is_stopped)) std::this_thread::yield();
}
StoppedServer::~StoppedServer() { ::kill(pid_, SIGCONT); }

void truncate_all_tables(Database& db) {
    Rows tables = db.query(Sql(
        "select table_name, ifnull(auto_increment,0)>1 from information_schema.tables where table_schema=database() and "
        "table_type='BASE TABLE' and table_name<>'consent_type'"));
    std::vector<std::string> used;
    Sql has_rows;
    while (tables.next()) {
        if (tables.flag(1)) {
            used.push_back(tables.text(0));
            continue;
        }
        if (has_rows.size() > 0) has_rows << " union all ";
        has_rows << "select " << SqlText{tables.text(0)} << " from (select 1 from ";
        has_rows.identifier(tables.text(0)) << " limit 1) x";
    }
    if (has_rows.size() > 0) {
        Rows rows = db.query(has_rows);
        while (rows.next()) used.push_back(rows.text(0));
    }
    db.execute(Sql("SET foreign_key_checks=0"));
    for (const auto& name : used) {
        Sql sql("TRUNCATE TABLE ");
        db.execute(sql.identifier(name));
    }
    db.execute(Sql("SET foreign_key_checks=1"));
}

std::vector<std::vector<std::string>> rows_of(Database& db, const Sql& query, int columns) {
    Rows rows = db.query(query);
    std::vector<std::vector<std::string>> all;
    while (rows.next()) {
        auto& row = all.emplace_back();
        for (int i = 0; i < columns; ++i) row.push_back(rows.text(i));
    }
    return all;
}

std::int64_t number_of(Database& db, const Sql& query) {
    Rows rows = db.query(query);
    if (!rows.next()) throw std::runtime_error("no row: " + query.str());
    return rows.i64(0);
}

}  // namespace sluice::test
