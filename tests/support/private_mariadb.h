#pragma once
// A MariaDB of a test's own: own data folder and socket in a temporary folder, no network unless asked for, ended by
// pid. Nobody else on the machine gets in: its folder is closed to others, its accounts have a random password, and it
// reads and writes no files for them. Starting takes about a second. $MYSQL_UNIX_PORT of this process (and so of the
// programs that it starts) names the socket of the server that was started last.
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "sluice/db/database.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sluice::test {

struct MariaDbOptions {
    int flush_log_at_trx_commit = 0;  ///< 1: commits survive kill -9, as in production
    bool tcp = false;                 ///< listens on 127.0.0.1, port()
    std::vector<std::string> more{};  ///< further arguments of mariadbd
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

    void start();  ///< after stop() or kill(); returns when it accepts connections
    void stop();   ///< SIGTERM and wait
    void kill();   ///< SIGKILL and wait
    bool running();
    pid_t pid() const;
    int port() const { return port_; }
    std::filesystem::path socket() const;
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
    void write_accounts() const;
    std::string temporary_folder() const;
    MariaDbOptions options_;
    TempDir folder_;
    std::string password_;  ///< one for all servers of a process: a config.xml that names another of them still fits
    int port_ = 0;
    std::unique_ptr<Subprocess> server_;
};

/// Empties every table of the connected database but consent_type; auto-increment starts at 1 again.
void truncate_all_tables(Database& db);
/// All columns of all rows of a query, for comparisons in tests: rows of texts.
std::vector<std::vector<std::string>> rows_of(Database& db, const Sql& query, int columns);
/// The one number that a query gives.
std::int64_t number_of(Database& db, const Sql& query);

}  // namespace sluice::test
