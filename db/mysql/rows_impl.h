// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Rows as the client library has them. Connector/C++ would make an object of each result that knows every column's name
// in capital letters, which costs more than to read a row of a host: Sluice asks for columns by number.
#include <mariadb/mysql.h>

#include <memory>
#include <string_view>

#include "sluice/db/database.h"

namespace sluice {

struct Rows::Impl {
    enum class Read { kAllAtOnce, kAsTheyCome };
    /// What the last statement on this connection gave. Throws sql::SQLException.
    Impl(st_mysql* handle, Read read);
    /// Of the current row; NULL reads as "".
    std::string_view value(int column) const;

    struct Free {
        void operator()(MYSQL_RES* given) const { mysql_free_result(given); }
    };
    std::unique_ptr<MYSQL_RES, Free> result;
    MYSQL_ROW row = nullptr;
    const unsigned long* lengths = nullptr;
};

}  // namespace sluice
