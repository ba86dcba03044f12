// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What a column can't hold. Sessions are strict: such a statement is refused, and nothing of it is stored. Then the
// transaction is repeated in a lenient session: the server stores what the column can hold and warns. A text may lose
// characters, and a column that our statements do not know gets the default of its type; both are logged once a day. A
// number may not change, but for those that a client measured.
//
// A row may also break a CHECK of the project: MariaDB's JSON columns have one, and '' is no JSON. Then the transaction
// is repeated without the CHECKs. MySQL can't be told so.
#include <optional>
#include <string>
#include <string_view>

namespace sluice {

/// The session variables of each.
inline constexpr std::string_view kStrictSession =
    "sql_mode='STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'";
inline constexpr std::string_view kLenientSession = "sql_mode='NO_ENGINE_SUBSTITUTION',max_error_count=65535";

/// The error of a strict session that a lenient one may not have.
bool is_unfit(int code);
/// MariaDB's error of a CHECK that a row breaks.
inline constexpr int kCheckFailed = 4025;
/// What to log of it. `server_text`: "CONSTRAINT `host.doc` failed for `project`.`host`".
std::string check_ignored(std::string_view server_text);
/// A text can't be compared with the column, whose character set does not have all its characters.
bool is_foreign_text(int code);

struct ServerWarning {
    int code = 0;
    std::string text;
};
/// What to log of a warning of a lenient session; "" for one that says nothing of values. nullopt: a number was changed
/// that must not be.
std::optional<std::string> judge(const ServerWarning& warning, std::string_view statement);

}  // namespace sluice
