// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What BOINC added to the tables of the server's programs in the last ten years. A database may lack it: programs do
// without, and say once a day what they lose.
#include <span>
#include <string>
#include <string_view>

namespace sluice {

struct LateColumn {
    std::string_view table, name;
    std::string_view instead;   ///< what is read, as SQL
    bool must_be_kept = false;  ///< a job that holds anything else is refused
    std::string_view definition, since;
    int revision = 0;          ///< of html/ops/upgrade_db.php
    std::string_view what;     ///< is held in it
    std::string add() const;   ///< the statement
    std::string told() const;  ///< one line: what is missing, what follows, what to do
};
struct LateIndex {
    std::string_view table, name, column, since;
    int revision = 0;
    std::string add() const;
    std::string told() const;
};

std::span<const LateColumn> late_columns();
std::span<const LateIndex> late_indexes();

}  // namespace sluice
