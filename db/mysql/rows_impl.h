// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <cppconn/resultset.h>
#include <cppconn/statement.h>

#include <memory>

#include "sluice/db/database.h"

namespace sluice {

struct Rows::Impl {
    std::unique_ptr<sql::Statement> statement;  // outlives its result set
    std::unique_ptr<sql::ResultSet> result;
};

}  // namespace sluice
