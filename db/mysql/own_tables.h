// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Tables that upstream's schema does not have: made by the program that fills them.
#include <chrono>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/db/database.h"
#include "sluice/db/late_schema.h"
#include "sluice/model/gang.h"

namespace sluice {

struct OwnTable {
    SqlLiteral name, columns;  ///< "sluice_…", what stands between the brackets of CREATE TABLE
};

/// Makes those that are not there, and sends no statement that could make a table for the others: on a cluster each
/// such one stops all nodes, and a node that dies within it needs a copy of the whole database before it is back. Not
/// within a transaction, which that would commit.
void make_tables(Database& db, std::initializer_list<OwnTable> tables);

/// host.expavg_credit; below that a host has computed nothing for months: update_stats halves it in a week.
inline constexpr double kActiveHostCredit = 0.1;
/// Ids among which hosts without credit are looked for.
inline constexpr Id kNewestHosts = 10000;

/// Of a workunit `w`, as is_whole() has it.
inline constexpr SqlLiteral kCutWorkunit{"w.xml_doc NOT LIKE '%<workunit>%</workunit>%'"};

/// Rows of sluice_gang_wait for which `where` (and what follows it) holds; without the table there are none.
std::vector<GangWait> read_gang_waits(Database& db, const Sql& where);

// What a connection has found out of columns and indexes that its database lacks. Nobody asks the server beforehand:
// its first refusal tells, and for some minutes the statements do without. Then one of them asks again, since an admin
// may have updated the tables.

class MissingSchema {
  public:
    using Time = std::chrono::steady_clock::time_point;
    static constexpr std::chrono::minutes kKept{10};

    /// Whether the server's error says something new that statements can do without. Logged once a day.
    bool learn(int code, std::string_view server_text, Time now);
    /// Everything, kKept after something was learned for the last time. Not within a transaction.
    void forget_old(Time now);
    bool nothing() const { return columns_.empty() && indexes_.empty(); }
    /// Throws DbError if the statement writes a value that must be kept.
    std::string adapt(std::string statement) const;

  private:
    std::vector<const LateColumn*> columns_;
    std::vector<std::string> indexes_;
    Time learned_{};
};

}  // namespace sluice
