// SPDX-License-Identifier: LGPL-3.0-or-later
#include "db/mysql/errors.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>

#include "sluice/base/own_host.h"
#include "sluice/base/text.h"

namespace sluice {
namespace {

std::string one_line(std::string_view text) {
    std::string line(text);
    std::replace_if(
        line.begin(), line.end(), [](unsigned char c) { return c < 0x20; }, ' ');
    return line;
}

DbError::Kind kind_of(int code) {
    switch (code) {
        case 1213:  // deadlock, or another node of a cluster was quicker
        case kLockWaitTimeout:
        case kStatementTimeout:
        case 1020:  // a locking read met a row newer than its snapshot (MariaDB's innodb_snapshot_isolation)
        case kNodeNotReady:
        case kErrorDuringCommit:
        case 1467:  // no auto-increment value: MariaDB's name for a deadlock at the table's counter
        case 1613:  // XA: rolled back after waiting too long
        case 1614:  // XA: deadlock
        case 1637:  // too many transactions at a time
        case 3101:  // MySQL group replication: another member was quicker
            return DbError::Kind::kRetry;
        case 1062:
        case 1586: return DbError::Kind::kDuplicate;
        case 2006:  // server has gone away
        case 2013:  // lost connection
        case 2026:  // the same where it is encrypted
        case 2055:
        case 1053:  // server shutdown in progress
        case 1077:
        case 1152:  // aborted connection
        case 1158:  // network errors seen by the server
        case 1159:
        case 1160:
        case 1161:
        case 1184:
        case 1927:  // connection was killed
        case 1928:
        case 4031:  // the server closed the idle connection
            return DbError::Kind::kLost;
        default: return DbError::Kind::kOther;
    }
}

/// What to do about an error of a statement; "" if the server's text says it all.
const char* advice(int code) {
    switch (code) {
        case kNoSuchTable: return "; load db/schema.sql into this database, or check <db_name> in config.xml";
        case 1054: return "; the schema is older than this program: run the project's database upgrade";
        case 1364:
        case 1136: return "; the schema does not fit this program: compare it with db/schema.sql";
        case 1044:
        case 1142:
        case 1143:
        case 1227: return "; grant the missing right to <db_user> of config.xml";
        case 3140:
        case 3819:
            return "; the project's own CHECK or JSON column refuses what programs store: give it a default that is right, "
                   "or drop the CHECK";
        case 1153: return "; raise max_allowed_packet on the server to at least 16M";
        case 1021:
        case 1114:
        case 3:
        case 28: return "; free disk space on the database server";
        case 1036:
        case 1290:
        case 1836: return "; the server is read-only: is <db_host> a replica?";
        default: return "";
    }
}

/// Of HOST, HOST:PORT, [IPV6]:PORT or IPV6.
std::string_view without_port(std::string_view host) {
    if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
    const auto colon = host.find(':');
    return colon == host.rfind(':') ? host.substr(0, colon) : host;
}

std::string default_socket() {
    if (const char* from_environment = std::getenv("MYSQL_UNIX_PORT"); from_environment && *from_environment)
        return from_environment;
    constexpr std::array places = {"/run/mysqld/mysqld.sock", "/var/lib/mysql/mysql.sock", "/tmp/mysql.sock"};
    const auto there = std::find_if(places.begin(), places.end(), [](const char* p) { return access(p, F_OK) == 0; });
    return there == places.end() ? places.front() : *there;
}

}  // namespace

Endpoint endpoint_of(const DbSettings& settings) {
    Endpoint endpoint;
    std::string_view host = settings.host;
    bool port_given = false;
    // One colon is HOST:PORT; more are an IPv6 address, whose port stands after "]:".
    const auto colon = host.rfind(':');
    const bool bracketed = host.starts_with('[');
    if (colon != host.npos && (bracketed ? host[colon - 1] == ']' : host.find(':') == colon)) {
        const std::string_view port = host.substr(colon + 1);
        const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), endpoint.port);
        if (error != std::errc{} || end != port.data() + port.size() || endpoint.port < 1 || endpoint.port > 65535)
            throw DbError(DbError::Kind::kCantConnect, 0,
                          fmt::format("the port in <db_host>{}</db_host> is not a number from 1 to 65535: "
                                      "correct config.xml",
                                      one_line(settings.host)));
        port_given = true;
        host = host.substr(0, colon);
    }
    if (bracketed && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    const bool local = host.empty() || host == "localhost" || host == own_host_name();
    if (local && !port_given)
        endpoint.socket = default_socket();
    else
        endpoint.host = local ? "127.0.0.1" : std::string(host);
    return endpoint;
}

std::vector<std::string> hosts_of(const std::string& list) {
    std::vector<std::string> hosts;
    for (const std::string_view part : split(list, ','))
        if (const auto host = trim(part); !host.empty()) hosts.emplace_back(host);
    if (hosts.empty()) return {std::string(trim(list))};
    if (hosts.size() == 1) return hosts;
    const std::string own = own_host_name();
    // gethostname() may give the short name where the list has the full one, and the other way round.
    const auto is_short_of = [](std::string_view name, std::string_view full) {
        return !name.empty() && full.size() > name.size() && full.starts_with(name) && full[name.size()] == '.';
    };
    const auto is_own = [&](const std::string& host) {
        const std::string name(without_port(host));
        return name.empty() || name == "localhost" || name == own || is_short_of(name, own) || is_short_of(own, name) ||
               is_own_address(name);
    };
    std::stable_partition(hosts.begin(), hosts.end(), is_own);
    return hosts;
}

std::string server_name(const DbSettings& settings) {
    try {
        const Endpoint endpoint = endpoint_of(settings);
        if (endpoint.host.empty()) return "localhost (socket " + endpoint.socket + ")";
        return fmt::format("{}:{}", endpoint.host, endpoint.port);
    } catch (const DbError&) {
        return one_line(settings.host);
    }
}

bool server_is_busy(int code, std::string_view server_text) {
    // 11: EAGAIN of the unix socket, whose queue is full.
    const bool queue_is_full =
        server_text.find("(11)") != server_text.npos || server_text.find("(11 ") != server_text.npos;
    return code == 1040 || code == 1203 || (code == 2002 && queue_is_full);
}

DbError connect_error(const DbSettings& settings, int code, std::string_view server_text) {
    const std::string server = server_name(settings);
    const auto error = [&](const std::string& text) { return DbError(DbError::Kind::kCantConnect, code, text); };
    switch (code) {
        case 1045:
        case 1698:
            return error(
                fmt::format("the database server at {} refuses user '{}': check <db_user> and <db_passwd> in "
                            "config.xml",
                            server, one_line(settings.user)));
        case 1044:
            return error(
                fmt::format("user '{}' may not use database '{}' at {}: grant the right, or check <db_name> in "
                            "config.xml",
                            one_line(settings.user), one_line(settings.name), server));
        case 1049:
            return error(
                fmt::format("there is no database '{}' at {}: create it and load db/schema.sql, or check "
                            "<db_name> in config.xml",
                            one_line(settings.name), server));
        case 1040:
        case 1203:
            return error(
                fmt::format("the database server at {} has too many connections: raise max_connections", server));
        case 1129:
        case 1130:
            return error(fmt::format("the database server at {} does not accept this machine ({})", server,
                                     one_line(server_text)));
        default:
            return error(
                fmt::format("can't reach the database server at {} ({}): is it running? Check <db_host> in "
                            "config.xml",
                            server, one_line(server_text)));
    }
}

DbError statement_error(const DbSettings& settings, int code, std::string_view server_text,
                        std::string_view statement) {
    const DbError::Kind kind = kind_of(code);
    if (kind == DbError::Kind::kLost)
        return {kind, code,
                fmt::format("the connection to the database server at {} broke ({})", server_name(settings),
                            one_line(server_text))};
    return {
        kind, code,
        fmt::format("database error {}: {}{} [{}]", code, one_line(server_text), advice(code), redacted(statement))};
}

std::string redacted(std::string_view statement) {
    constexpr std::size_t limit = 200;
    std::string text;
    for (std::size_t i = 0; i < statement.size() && text.size() < limit; ++i) {
        const char c = statement[i];
        if (c != '\'') {
            text += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
            continue;
        }
        for (++i; i < statement.size() && statement[i] != '\''; ++i)
            if (statement[i] == '\\') ++i;
        text += "'…'";
    }
    return text.size() >= limit ? text + " …" : text;
}

}  // namespace sluice
