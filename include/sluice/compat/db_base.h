// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The project's database for code that was written for upstream's interface: look-ups, and statements of its own. The
// connection is this program's own, not the daemon's, and is made when it is first used, as config.xml says. It needs
// the client library libmariadb.so.3 (or libmysqlclient), which is loaded then; or the program is linked with one.
#include <memory>
#include <string>

#include "boinc_db_types.h"

#if __has_include(<mysql.h>)
#include <mysql.h>
#elif __has_include(<mariadb/mysql.h>)
#include <mariadb/mysql.h>
#elif __has_include(<mysql/mysql.h>)
#include <mysql/mysql.h>
#else
typedef struct st_mysql MYSQL;
typedef struct st_mysql_res MYSQL_RES;
typedef char** MYSQL_ROW;
#endif

/// No statement gives more rows, unless it has a LIMIT of its own; one with more is an error.
#define MAX_ENUMERATED_ROWS 100000

// Functions return 0, ERR_DB_NOT_FOUND (no such row, or no more rows), ERR_DB_CANT_CONNECT, or the server's number of
// an error, which is logged.
class DB_CONN {
  public:
    /// Gives the client library's handle, connected; null: that is not possible.
    struct HANDLE {
        // Here, as MySQL's header has another name for the type than MariaDB's.
        operator MYSQL*() const { return static_cast<MYSQL*>(connected()); }  // NOLINT(google-explicit-constructor)

      private:
        static void* connected();
    };

    DB_CONN() = default;
    DB_CONN(const DB_CONN&) = delete;
    ~DB_CONN() { close(); }
    /// With other settings than config.xml's. `host`: HOST[:PORT]; null or "": this machine.
    int open(const char* name, const char* host, const char* user, const char* password);
    int do_query(const char* statement);
    int affected_rows();
    DB_ID_TYPE insert_id();
    int get_long(const char* query, long& value);
    int get_double(const char* query, double& value);
    int start_transaction();
    int commit_transaction();
    int rollback_transaction();
    int ping();
    /// The last error's text; valid until the next statement.
    const char* error_string();
    void print_error(const char* where);
    void close();

    HANDLE mysql;
};

extern DB_CONN boinc_db;
/// Statements are logged.
extern bool g_print_queries;

/// A row of a table, and the way to it. `clause` stands behind the table's name: "where ...".
template <typename ROW>
class DB_TABLE : public ROW {
  public:
    int lookup_id(DB_ID_TYPE wanted);
    /// The first row.
    int lookup(const char* clause);
    /// The next row; the first call makes the query. At the end ERR_DB_NOT_FOUND, and it begins anew.
    int enumerate(const char* clause = "", bool ignored = false);
    int end_enumerate();
    int count(long& n, const char* clause = "");
    int sum(double& total, const char* field, const char* clause = "");
    int max_id(DB_ID_TYPE& greatest, const char* clause = "");
    /// Of the row with this id; of those that `condition` names, if there is one.
    int update_field(const char* assignments, const char* condition = nullptr);
    /// Integers of the row with this id.
    int get_field_ints(const char* fields, int n, int* values);
    int get_field_int(const char* field, int& value) { return get_field_ints(field, 1, &value); }

  private:
    std::shared_ptr<struct DB_ROWS> rows_;
};

/// 0 in *field: what `len` bytes hold is escaped for a quoted text of SQL.
extern void escape_string(char* field, int len);
