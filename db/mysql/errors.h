// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What the server or the client library said, as a DbError whose text tells an admin what to do.
#include <string>
#include <string_view>
#include <vector>

#include "sluice/base/error.h"
#include "sluice/db/database.h"

namespace sluice {

/// "localhost (/run/mysqld/mysqld.sock)", "db.example.org:3307".
std::string server_name(const DbSettings& settings);

/// It is there and has no room for one more connection at this moment.
bool server_is_busy(int code, std::string_view server_text);
DbError connect_error(const DbSettings& settings, int code, std::string_view server_text);
/// `statement` is quoted in the text without its literals: they may be keys, passwords or volunteers' data.
DbError statement_error(const DbSettings& settings, int code, std::string_view server_text, std::string_view statement);

/// The statement with '…' for each text literal, on one line, at most 200 bytes.
std::string redacted(std::string_view statement);

inline constexpr int kLockWaitTimeout = 1205;
/// A node of a cluster that is not part of it at the moment, or not up to date: it did nothing.
inline constexpr int kNodeNotReady = 1047;
/// "Error during COMMIT": the node lost the others before it heard whether they have it.
inline constexpr int kErrorDuringCommit = 1180;
/// max_statement_time has passed.
inline constexpr int kStatementTimeout = 1969;
/// The server's code for a table that is not there. Tables of our own are made by the daemon that fills them.
inline constexpr int kNoSuchTable = 1146;
/// Ours: a write of a block of statements matched fewer rows than it must. This is the first write's, its successors
/// have the next numbers.
inline constexpr int kFewerRows = 30001;
inline constexpr int kNoSuchColumn = 1054, kDuplicateColumn = 1060, kNoSuchIndex = 1176;

/// Where to connect to.
struct Endpoint {
    std::string host;  ///< empty: the unix socket
    int port = 3306;
    std::string socket;
};
/// HOST, HOST:PORT, "" or "localhost" (and this machine's own name) for the socket: $MYSQL_UNIX_PORT, or the first
/// usual place that exists. "localhost:PORT" is TCP. Throws DbError(kCantConnect) on a bad port.
Endpoint endpoint_of(const DbSettings& settings);

/// The hosts of <db_host>A,B:PORT,…</db_host>, in the order in which they are to be tried: as given, but this machine
/// (its name, short or full, or an address of it) first. At least one, which may be "".
std::vector<std::string> hosts_of(const std::string& list);

}  // namespace sluice
