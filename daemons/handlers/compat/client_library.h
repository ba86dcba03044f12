// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// The functions of the database's client library, which is loaded when a project's code first needs it: most need none.
#include "include/sluice/compat/db_base.h"

namespace sluice {

struct ClientLibrary {
    MYSQL* (*init)(MYSQL*);
    int (*options)(MYSQL*, int option, const void* value);
    /// Null: not MariaDB's library.
    int (*ssl_set)(MYSQL*, const char* key, const char* certificate, const char* ca, const char* path,
                   const char* ciphers);
    MYSQL* (*real_connect)(MYSQL*, const char* host, const char* user, const char* password, const char* database,
                           unsigned port, const char* socket, unsigned long flags);
    int (*real_query)(MYSQL*, const char* text, unsigned long length);
    MYSQL_RES* (*store_result)(MYSQL*);
    char** (*fetch_row)(MYSQL_RES*);
    unsigned (*num_fields)(MYSQL_RES*);
    void* (*fetch_field_direct)(MYSQL_RES*, unsigned n);  ///< begins with the column's name
    unsigned long long (*num_rows)(MYSQL_RES*);
    void (*free_result)(MYSQL_RES*);
    unsigned long long (*affected_rows)(MYSQL*);
    unsigned long long (*insert_id)(MYSQL*);
    unsigned long (*real_escape_string)(MYSQL*, char* to, const char* from, unsigned long length);
    int (*ping)(MYSQL*);
    unsigned (*error_number)(MYSQL*);
    const char* (*error)(MYSQL*);
    void (*close)(MYSQL*);
};

/// Null, with a line in the log: there is none.
const ClientLibrary* client_library();

}  // namespace sluice
