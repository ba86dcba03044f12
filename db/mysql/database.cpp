// SPDX-License-Identifier: LGPL-3.0-or-later
// One connection over Connector/C++ 1.1. What is decided here: what a lost connection means (outside a transaction a
// query is repeated once, anything else goes up), how a transaction is retried, and what became of a COMMIT whose
// answer was lost.
#include <cppconn/exception.h>
#include <cppconn/statement.h>
#include <fmt/core.h>
#include <mysql_connection.h>
#include <mysql_driver.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <span>
#include <stdexcept>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "db/mysql/errors.h"
#include "db/mysql/own_tables.h"
#include "db/mysql/rows_impl.h"
#include "db/mysql/session.h"
#include "db/mysql/unfit.h"
#include "sluice/base/hash.h"
#include "sluice/base/log.h"
#include "sluice/base/metrics.h"
#include "sluice/db/database.h"

namespace sluice {
namespace {

/// So that two processes that deadlocked do not meet again at once.
void wait_a_little(int attempt) {
    static thread_local std::minstd_rand random{std::random_device{}()};
    const int most = std::min(10 << std::min(attempt, 6), 500);  // ms
    std::this_thread::sleep_for(std::chrono::milliseconds(std::uniform_int_distribution<int>(1, most)(random)));
}

using SteadyClock = std::chrono::steady_clock;
constexpr std::chrono::duration<double> kOneOfManyPatience{
    1};  ///< with a server that has no room, where there are others
constexpr int kConnectTimeout = 10, kOneOfManyConnectTimeout = 3;  ///< s
constexpr std::chrono::seconds kFindOutPatience{10};  ///< with one that can't be asked whether a COMMIT took place

constexpr std::string_view kSecret = "authenticator='";

/// Log level 4 shows every statement; account keys only by their beginning, and not a megabyte of reports.
void log_statement(const std::string& text) {
    if (!log_enabled(LogLevel::kDebug)) return;
    constexpr std::size_t kMost = 4000, kShown = 6;
    std::string shown = text.substr(0, kMost);
    for (auto at = shown.find(kSecret); at != std::string::npos; at = shown.find(kSecret, at + kSecret.size())) {
        const auto begin = std::min(at + kSecret.size() + kShown, shown.size()), end = shown.find('\'', begin);
        if (end != std::string::npos) shown.replace(begin, end - begin, "...");
    }
    log_debug("query: {}{}", shown, text.size() > kMost ? " ..." : "");
}

/// Whether a COMMIT that failed so may have taken place: its answer was lost, or a node of a cluster refuses one that
/// the others may have. (Any other error: it is rolled back.)
bool is_unclear(const DbError& e) {
    return e.kind() == DbError::Kind::kLost || e.code() == kErrorDuringCommit || e.code() == kNodeNotReady;
}

constexpr SqlLiteral kPacket("BEGIN NOT ATOMIC ");
constexpr std::size_t kMostInPacket = Database::kBulkBytes / 2;
bool is_packet(const Sql& sql) { return sql.str().starts_with(kPacket.text); }

/// A write of a transaction that is not sent yet.
struct Write {
    Sql sql;
    std::int64_t least = 0;       ///< rows that it must match
    std::function<void()> fewer;  ///< called if it matched fewer; empty: execute_matching() says so
};

/// For MariaDB. An error ends it, the transaction stays open. The server judges the counts: the n-th write that matches
/// fewer rows than it must is error kFewerRows + n, and nothing behind it is done.
Sql packet_of(std::span<const Write> writes, bool commit) {
    Sql packet(kPacket);
    int code = kFewerRows;
    for (const Write& write : writes) {
        packet << write.sql << ";";
        if (write.least > 0)
            packet << "IF ROW_COUNT()<" << write.least << " THEN SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO=" << code
                   << ",MESSAGE_TEXT='fewer rows than expected';END IF;";
        ++code;
    }
    return packet << (commit ? Sql("COMMIT;END") : Sql("END"));
}

/// An error of a write, not of the COMMIT in the same block: so all is rolled back, for certain. Of a deadlock a
/// cluster speaks at COMMIT, too.
bool is_of_a_write(const DbError& e) {
    return e.code() == kLockWaitTimeout || is_unfit(e.code()) || e.code() == kCheckFailed ||
           e.code() == kNoSuchColumn || e.code() == kNoSuchIndex;
}

}  // namespace

struct Database::Impl {
    explicit Impl(DbSettings s) : settings(std::move(s)), hosts(hosts_of(settings.host)) { settings.host = hosts[0]; }

    DbSettings settings;             ///< its host is the one of `hosts` that is in use
    std::vector<std::string> hosts;  ///< any of them will do; more than one: nodes of a cluster
    std::size_t host = 0;
    std::unique_ptr<sql::Connection> connection;
    st_mysql* handle = nullptr;
    struct Session {
        std::size_t host = 0;
        std::uint64_t number = 0;  ///< the server's number of the connection
        std::uint64_t serial = 0;  ///< ours: behind one address two nodes may give the same number
        friend bool operator==(const Session&, const Session&) = default;
    } session;
    std::uint64_t statements = 0, commits = 0;
    void note_statement() {
        ++statements;
        count_metric(Metric::kSqlStatements);
    }
    void note_commit() {
        ++commits;
        count_metric(Metric::kSqlCommits);
    }
    Id last_insert_id = 0;
    bool in_transaction = false;
    SteadyClock::time_point patience_ends = SteadyClock::time_point::max();  ///< of the transaction, for its statements
    bool opened = false;                                                     ///< the server knows of the transaction
    std::vector<Write> waiting;  ///< of the transaction; the first one may be its START TRANSACTION
    bool streaming = false;
    struct Mode {
        bool lenient = false;    ///< with values that its columns can't hold
        bool unchecked = false;  ///< with rows that break the project's CHECKs
        friend bool operator==(const Mode&, const Mode&) = default;
    };
    Mode mode;              ///< wanted: the transaction is repeated in it
    Mode session_mode;      ///< what the server was told last
    MissingSchema lacking;  ///< columns and indexes
    enum class Often { kSent, kPrepared, kRefused };
    std::unordered_map<std::string, Often> often;  ///< what query_often() sent over this connection
    bool learned = false;  ///< of a packet that failed half-way: the transaction is to be repeated

    void connect();
    void connect_to_host();
    void connect_to(sql::ConnectOptionsMap& options);
    void leave_host();
    bool server_is_there() const;
    void disconnect() {
        connection.reset();
        handle = nullptr;
        lacking = {};
        often.clear();
    }
    /// Runs `send` for one statement and turns what it throws into a DbError. Texts that can't be compared with a
    /// column are repeated in ASCII; statements do without what the database lacks.
    template <typename Send>
    auto guarded(const Sql& given, Send send) -> decltype(send(given.str()));
    template <typename Ask>
    auto repeated_if_lost(Ask ask) -> decltype(ask());
    std::int64_t execute(const Sql& sql);
    void add(Write write);
    bool send_waiting();
    std::optional<std::size_t> send_packet(std::span<const Write> writes, bool commit);
    std::size_t waiting_bytes() const;
    bool in_one_packet() const;
    void begin();
    void commit(bool in_one, bool& committing);
    void end() noexcept;
    void roll_back() noexcept;
    bool find_out(const std::function<bool()>& took_place, Session old, const DbError& why);
    bool ask(const std::function<bool()>& took_place);
    void end_session(const Session& old) noexcept;
    bool worth_repeating(const DbError& e) const;
    std::optional<Sql> prepared(const Sql& begin);
    void set_mode();
    bool relax(const DbError& e);
    void judge_warnings(std::string_view statement);
    std::unique_ptr<sql::Statement> new_statement() {
        return std::unique_ptr<sql::Statement>(connection->createStatement());
    }
};

/// One after the other, from the one on that served last.
void Database::Impl::connect() {
    if (connection) return;
    std::string others;
    for (std::size_t tried = 1;; ++tried) {
        try {
            return connect_to_host();
        } catch (const DbError& e) {
            if (hosts.size() == 1) throw;
            others += (others.empty() ? "" : "; ") + std::string(e.what());
            leave_host();
            if (tried == hosts.size())
                throw DbError(DbError::Kind::kCantConnect, e.code(), "no server of <db_host> can be used: " + others);
        }
    }
}

void Database::Impl::leave_host() {
    disconnect();
    host = (host + 1) % hosts.size();
    settings.host = hosts[host];
}

void Database::Impl::connect_to_host() {
    const Endpoint endpoint = endpoint_of(settings);
    sql::ConnectOptionsMap options;
    options["hostName"] =
        sql::SQLString(endpoint.host.empty()                          ? "unix://" + endpoint.socket
                       : endpoint.host.find(':') == std::string::npos ? "tcp://" + endpoint.host
                                                                      : "tcp://[" + endpoint.host + "]");
    if (!endpoint.host.empty()) options["port"] = endpoint.port;
    options["userName"] = sql::SQLString(settings.user);
    options["password"] = sql::SQLString(settings.password);
    options["schema"] = sql::SQLString(settings.name);
    if (!settings.ssl_ca.empty() && !endpoint.host.empty()) {
        options["sslCA"] = sql::SQLString(settings.ssl_ca);
        options["sslEnforce"] = true;
        options["sslVerify"] = true;
    }
    options["CLIENT_FOUND_ROWS"] = true;
    options["OPT_CONNECT_TIMEOUT"] = hosts.size() > 1 ? kOneOfManyConnectTimeout : kConnectTimeout;
    // The server ends what takes longer than `patience`; one that does not even do that hangs, or cannot be reached.
    if (settings.interactive) options["OPT_READ_TIMEOUT"] = static_cast<int>(std::ceil(settings.patience)) + 5;
    connect_to(options);
    native_close_on_exec(handle);
    if (!settings.interactive) native_heed_silence(handle);
    if (!endpoint.host.empty()) native_notice_dead_peer(handle);
    session = {host, native_session(handle), session.serial + 1};
}

/// Hundreds of requests at a time may be more than the server takes; each of them is soon through.
void Database::Impl::connect_to(sql::ConnectOptionsMap& options) {
    const std::chrono::duration<double> patience(settings.patience);
    const auto until = SteadyClock::now() + (hosts.size() > 1 ? std::min(kOneOfManyPatience, patience) : patience);
    for (int attempt = 1;; ++attempt) {
        SessionSetup setup(settings);
        try {
            connection.reset(sql::mysql::get_driver_instance()->connect(options));
        } catch (const sql::SQLException& e) {
            if (!server_is_busy(e.getErrorCode(), e.what()) || SteadyClock::now() >= until)
                throw connect_error(settings, e.getErrorCode(), e.what());
            wait_a_little(attempt);
            continue;
        }
        handle = setup.handle();
        session_mode = {};
        statements += static_cast<std::uint64_t>(setup.statements());
        count_metric(Metric::kSqlStatements, {}, static_cast<std::uint64_t>(setup.statements()));
        if (handle == nullptr)
            throw std::logic_error("sluice_db was linked without its --wrap options (db/CMakeLists.txt)");
        return;
    }
}

/// Whatever it says, if only that it has no room. Not so one that is stopped: the system accepts connections for it.
bool Database::Impl::server_is_there() const {
    constexpr int kFirstOfClient = 2000;  // errors that the client library found out by itself
    DbSettings other = settings;
    other.interactive = true;
    try {
        Database(other).connect();
        return true;
    } catch (const DbError& e) {
        return e.code() > 0 && e.code() < kFirstOfClient;
    }
}

template <typename Send>
auto Database::Impl::guarded(const Sql& given, Send send) -> decltype(send(given.str())) {
    if (streaming) throw std::logic_error("a statement was sent from within query_streaming()");
    if (opened && !connection)
        throw DbError(DbError::Kind::kLost, 2013, "the connection broke earlier in this transaction");
    if (SteadyClock::now() > patience_ends)
        throw DbError(DbError::Kind::kRetry, kLockWaitTimeout,
                      "this transaction has waited too long for others, or for the database server: given up");
    const bool first = !opened;
    opened = in_transaction;  // if there is no connection, nothing of the transaction is done outside it
    std::string adapted;
    const std::string* sql = &given.str();
    const auto instead = [&](std::string other) {
        adapted = std::move(other);
        sql = &adapted;
    };
    bool in_ascii = false;
    if (first) lacking.forget_old(SteadyClock::now());
    if (!lacking.nothing()) instead(lacking.adapt(*sql));
    for (std::size_t tried = 1;; ++tried) {
        connect();
        log_statement(*sql);
        try {
            const SilenceWatch watch(settings.silence, [this] { return server_is_there(); });
            set_mode();
            note_statement();
            return send(*sql);
        } catch (const sql::SQLException& e) {
            if (!in_ascii && is_foreign_text(e.getErrorCode()) && !is_packet(given)) {
                in_ascii = true;
                instead(lacking.adapt(given.in_ascii().str()));
                log_once_a_day(LogLevel::kWarning,
                               fmt::format("a column's character set lacks characters of a text, which count as '?' "
                                           "where the two are compared: {}",
                                           e.what()));
                continue;
            }
            if (lacking.learn(e.getErrorCode(), e.what(), SteadyClock::now())) {
                learned = is_packet(given);
                if (!learned) {
                    instead(lacking.adapt(*sql));
                    continue;
                }
            }
            DbError error = statement_error(settings, e.getErrorCode(), e.what(), *sql);
            if (error.kind() == DbError::Kind::kLost) disconnect();
            if (error.code() == kNodeNotReady) {
                leave_host();  // what was begun there is rolled back
                if (first && tried < hosts.size()) continue;
            }
            throw error;
        }
    }
}

template <typename Ask>
auto Database::Impl::repeated_if_lost(Ask ask) -> decltype(ask()) {
    const bool may_repeat = !opened && connection != nullptr;
    try {
        return ask();
    } catch (const DbError& lost) {
        if (lost.kind() != DbError::Kind::kLost || !may_repeat) throw;
        opened = false;  // and rolled back
        try {
            return ask();
        } catch (const DbError& again) {
            // A server that was there and has gone is a lost connection, not one that could never be made.
            if (again.kind() == DbError::Kind::kCantConnect) throw lost;
            throw;
        }
    }
}

void Database::Impl::set_mode() {
    if (session_mode == mode) return;
    std::string set("SET ");
    set += mode.lenient ? kLenientSession : kStrictSession;
    if (session_mode.unchecked != mode.unchecked)
        set += std::string(",check_constraint_checks=") + (mode.unchecked ? "0" : "DEFAULT");
    note_statement();
    new_statement()->executeUpdate(set);
    session_mode = mode;
}

/// Whether the transaction that failed so may be stored in another mode.
bool Database::Impl::relax(const DbError& e) {
    if (!mode.lenient && is_unfit(e.code())) return mode.lenient = true;
    if (mode.unchecked || e.code() != kCheckFailed || !native_is_mariadb(handle)) return false;
    log_once_a_day(LogLevel::kWarning, check_ignored(e.what()));
    return mode.unchecked = true;
}

/// Of a lenient session: what became of the values.
void Database::Impl::judge_warnings(std::string_view text) {
    if (!mode.lenient || native_warnings(handle) == 0) return;
    note_statement();
    const auto statement = new_statement();
    const std::unique_ptr<sql::ResultSet> rows(statement->executeQuery("SHOW WARNINGS"));
    while (rows->next()) {
        const ServerWarning warning{rows->getInt(2), rows->getString(3).asStdString()};
        const auto line = judge(warning, text);
        if (!line) throw sql::SQLException(warning.text, "22003", warning.code);
        if (!line->empty()) log_once_a_day(LogLevel::kWarning, *line);
    }
}

std::int64_t Database::Impl::execute(const Sql& sql) {
    return guarded(sql, [&](const std::string& text) {
        const std::int64_t matched = new_statement()->executeUpdate(text);
        if (const std::int64_t id = native_insert_id(handle); id != 0) last_insert_id = id;
        judge_warnings(text);
        return matched;
    });
}

/// Which of them matched fewer rows than it must, if one did.
std::optional<std::size_t> Database::Impl::send_packet(std::span<const Write> writes, bool commit) {
    try {
        const Sql packet = packet_of(writes, commit);
        repeated_if_lost([&] {
            return guarded(packet, [&](const std::string& text) { return new_statement()->executeUpdate(text); });
        });
        return std::nullopt;
    } catch (const DbError& e) {
        const std::int64_t at = std::int64_t{e.code()} - kFewerRows;
        if (at < 0 || at >= static_cast<std::int64_t>(writes.size())) throw;
        return static_cast<std::size_t>(at);
    }
}

/// "EXECUTE … USING ", once the server has the statement. MySQL takes variables alone there. A statement that goes
/// without what the database lacks is not the one that was prepared.
std::optional<Sql> Database::Impl::prepared(const Sql& begin) {
    const auto [known, first] = often.try_emplace(begin.str(), Often::kSent);
    if (first || known->second == Often::kRefused) return std::nullopt;
    if (!connection || opened || !lacking.nothing() || !native_executes_with_values(handle)) return std::nullopt;
    // Named after its text and the database, which the server remembers with it: whatever session a proxy has put
    // behind the connection, it means this one or none.
    const std::string name = "sluice_" + md5_hex(settings.name + '\0' + begin.str());
    if (known->second == Often::kSent) {
        Sql prepare("PREPARE "), whole(begin);
        whole << "?";
        prepare.identifier(name) << " FROM " << SqlText{whole.str(), whole.size()};
        repeated_if_lost([&] { return execute(prepare); });
        often[begin.str()] = Often::kPrepared;
    }
    Sql sql("EXECUTE ");
    return std::move(sql.identifier(name) << " USING ");
}

/// What matched fewer rows than it must, of which the transaction can't go on.
static bool refused(const Write& write) {
    if (!write.fewer) return false;
    write.fewer();
    throw std::logic_error("a transaction went on although a write had matched fewer rows than it must");
}

/// False: the last one, which is execute_matching()'s, matched fewer rows than it must.
bool Database::Impl::send_waiting() {
    if (waiting.empty()) return true;
    if (!opened) connect();
    const bool in_packet = waiting.size() > 1 && in_one_packet();
    const std::vector<Write> writes = std::exchange(waiting, {});
    if (in_packet) {
        const auto at = send_packet(writes, false);
        return !at || refused(writes[*at]);
    }
    for (const Write& write : writes)
        if (repeated_if_lost([&] { return execute(write.sql); }) < write.least) return refused(write);
    return true;
}

std::size_t Database::Impl::waiting_bytes() const {
    std::size_t bytes = 0;
    for (const Write& write : waiting) bytes += write.sql.size();
    return bytes;
}

/// A text of megabytes would be copied once more in a block, by both sides.
void Database::Impl::add(Write write) {
    if (waiting_bytes() + write.sql.size() > kMostInPacket) send_waiting();
    waiting.push_back(std::move(write));
}

/// MySQL has no such blocks, and a lenient session is asked about each statement.
bool Database::Impl::in_one_packet() const {
    return waiting_bytes() <= kMostInPacket && native_is_mariadb(handle) && !mode.lenient;
}

/// START TRANSACTION waits for the first statement.
void Database::Impl::begin() {
    waiting.assign(1, Write{Sql("START TRANSACTION"), 0, {}});
    opened = learned = false;
    in_transaction = true;
}

/// `in_one`: what waits may go with it, as somebody can say afterwards whether it took place.
void Database::Impl::commit(bool in_one, bool& committing) {
    if (in_one && !waiting.empty() && !opened) connect();
    if (!in_one || waiting.empty() || !in_one_packet()) {
        send_waiting();
        patience_ends = SteadyClock::time_point::max();  // all locks are there
        committing = true;
        execute(Sql("COMMIT"));
        return;
    }
    opened = true;  // it may take place: so it is neither repeated nor sent to another node
    committing = true;
    const std::vector<Write> writes = std::exchange(waiting, {});
    const auto at = send_packet(writes, true);
    if (!at) return;
    committing = false;
    refused(writes[*at]);
}

void Database::Impl::end() noexcept {
    waiting.clear();
    in_transaction = opened = false;
    patience_ends = SteadyClock::time_point::max();
}

void Database::Impl::roll_back() noexcept {
    waiting.clear();
    patience_ends = SteadyClock::time_point::max();
    try {
        if (connection && opened) execute(Sql("ROLLBACK"));
    } catch (const std::exception&) {
        disconnect();  // the server rolls back when the connection ends
    }
    end();
}

/// A transaction is done once more.
static void count_retry(const DbError& e) {
    const SqlRetry why = e.kind() == DbError::Kind::kLost ? SqlRetry::kLost
                         : e.code() == kLockWaitTimeout   ? SqlRetry::kLockWait
                                                          : SqlRetry::kDeadlock;
    count_metric(Metric::kSqlRetries, {0, static_cast<std::uint16_t>(why)});
}

bool Database::Impl::worth_repeating(const DbError& e) const {
    if (e.code() == kStatementTimeout) return false;                // it took all the time there is
    if (e.kind() == DbError::Kind::kLost) return hosts.size() > 1;  // the next one has all that was committed
    const bool waits_once = settings.interactive || settings.turn_comes_again;
    return e.kind() == DbError::Kind::kRetry && !(waits_once && e.code() == kLockWaitTimeout);
}

/// Asks until there is an answer. The old connection may hang at the server, its locks held, long after it is of no use
/// to anybody: then it is ended.
bool Database::Impl::find_out(const std::function<bool()>& took_place, Session old, const DbError& why) {
    const auto until = SteadyClock::now() + kFindOutPatience;
    for (int attempt = 1;; ++attempt) {
        try {
            return ask(took_place);
        } catch (const DbError& e) {
            if (e.kind() == DbError::Kind::kOther || SteadyClock::now() >= until)
                throw DbError(DbError::Kind::kOther, e.code(),
                              fmt::format("a COMMIT failed, and whether it took place can't be found out: {}; the "
                                          "first error was: {}",
                                          e.what(), why.what()));
            if (e.code() == kLockWaitTimeout && session != old) end_session(old);
        }
        wait_a_little(attempt);
    }
}

/// Another node of a cluster may answer than the one that got the COMMIT. It first catches up with what all of them
/// have committed. That is the connection's wish: where the question was asked on another one, since the first broke or
/// its node was not ready, what was answered counts for nothing.
bool Database::Impl::ask(const std::function<bool()>& took_place) {
    const auto wait_for_others = [&](bool wish) {
        try {
            execute(wish ? Sql("SET SESSION wsrep_sync_wait=1") : Sql("SET SESSION wsrep_sync_wait=DEFAULT"));
        } catch (const DbError& e) {
            if (e.kind() != DbError::Kind::kOther) throw;  // kOther: a server without clusters
        }
    };
    for (std::size_t tried = 0; tried <= hosts.size(); ++tried) {
        connect();
        if (!native_is_mariadb(handle)) return took_place();
        const Session asked = session;
        wait_for_others(true);
        const bool yes = took_place();
        if (!connection || session != asked) continue;
        wait_for_others(false);
        return yes;
    }
    throw DbError(DbError::Kind::kLost, 2013, "the connection broke each time that a COMMIT was asked after");
}

/// Only on the server that gave the number: on another node, or after a restart, it may be somebody else's.
void Database::Impl::end_session(const Session& old) noexcept {
    try {
        if (session.host != old.host) return;
        // One address may stand for several nodes (HAProxy).
        if (hosts.size() == 1) {
            const std::unique_ptr<sql::ResultSet> cluster(
                new_statement()->executeQuery("SHOW VARIABLES LIKE 'wsrep_on'"));
            if (cluster->next() && cluster->getString(2) == "ON") return;
        }
        Sql sql("KILL ");
        execute(sql << old.number);
    } catch (const std::exception&) {  // it is gone: as wanted
    }
}

Database::Database(DbSettings settings) : impl_(std::make_unique<Impl>(std::move(settings))) {}
Database::~Database() = default;

void Database::connect() { impl_->connect(); }
void Database::disconnect() { impl_->disconnect(); }
bool Database::connected() const { return impl_->connection != nullptr; }

Rows Database::query(const Sql& sql) {
    impl_->send_waiting();
    return impl_->repeated_if_lost([&] {
        return impl_->guarded(sql, [&](const std::string& text) {
            impl_->new_statement()->execute(text);
            return Rows(std::make_unique<Rows::Impl>(impl_->handle, Rows::Impl::Read::kAllAtOnce));
        });
    });
}

Rows Database::query_often(const Sql& begin, Id id) {
    impl_->send_waiting();
    try {
        if (auto execute = impl_->prepared(begin)) return query(*execute << id);
    } catch (const DbError& e) {
        // The connection is another one, or the tables changed: the statement itself works, or says what is wrong.
        if (e.kind() != DbError::Kind::kOther) throw;
        const auto known = impl_->often.find(begin.str());
        if (known != impl_->often.end()) known->second = Impl::Often::kRefused;
    }
    return query(Sql(begin) << id);
}

void Database::query_streaming(const Sql& sql, const std::function<void(const Rows&)>& row) {
    impl_->send_waiting();
    bool any = false;  // once a row was handed over, a repetition would hand it over twice
    const auto ask = [&] {
        impl_->guarded(sql, [&](const std::string& sent) {
            if (any) throw DbError(DbError::Kind::kLost, 2013, "the connection broke while rows were read");
            impl_->new_statement()->execute(sent);
            Rows current(std::make_unique<Rows::Impl>(impl_->handle, Rows::Impl::Read::kAsTheyCome));
            impl_->streaming = true;
            struct Reset {
                bool& flag;
                ~Reset() { flag = false; }
            } reset{impl_->streaming};
            while (current.next()) {
                any = true;
                row(current);
            }
            // To the client library an error is the end of the rows. Another node's commit may have ended the
            // transaction. It would go on without its locks, each statement by itself, on half of what it was to read.
            if (const auto [code, text] = native_error(impl_->handle); code != 0)
                throw sql::SQLException(text, "HY000", code);
        });
    };
    impl_->repeated_if_lost(ask);
}

std::int64_t Database::execute(const Sql& sql) {
    impl_->send_waiting();
    if (impl_->in_transaction) return impl_->execute(sql);
    std::int64_t matched = 0;
    try {
        matched = impl_->execute(sql);
        impl_->note_commit();
    } catch (const DbError& e) {
        if (!impl_->relax(e)) throw;
        transaction([&] { matched = execute(sql); }, {}, 1);
    }
    return matched;
}

bool Database::execute_matching(const Sql& sql, std::int64_t least) {
    if (!impl_->in_transaction) return execute(sql) >= least;
    impl_->add({sql, least, {}});
    return impl_->send_waiting();
}

void Database::enqueue(Sql sql) { enqueue_matching(std::move(sql), 0, {}); }

void Database::enqueue_matching(Sql sql, std::int64_t least, std::function<void()> fewer) {
    if (!impl_->in_transaction) {
        if (execute(sql) < least) fewer();
        return;
    }
    impl_->add({std::move(sql), least, std::move(fewer)});
}

Id Database::last_insert_id() const { return impl_->last_insert_id; }

void Database::transaction(const std::function<void()>& work, const std::function<bool()>& took_place, int attempts) {
    if (impl_->in_transaction) throw std::logic_error("a transaction within a transaction");
    const auto most =
        std::chrono::duration_cast<SteadyClock::duration>(std::chrono::duration<double>(impl_->settings.patience));
    const auto until = impl_->settings.interactive ? SteadyClock::now() + most : SteadyClock::time_point::max();
    struct Strict {
        Impl::Mode& mode;
        ~Strict() { mode = {}; }
    } strict_afterwards{impl_->mode};
    for (int attempt = 1;; ++attempt) {
        bool committing = false;
        try {
            impl_->begin();
            impl_->patience_ends = until;
            work();
            impl_->commit(took_place != nullptr, committing);
            impl_->end();
            impl_->note_commit();
            return;
        } catch (const DbError& e) {
            impl_->roll_back();
            if (committing && took_place && !is_of_a_write(e) && impl_->find_out(took_place, impl_->session, e)) {
                impl_->note_commit();
                return;
            }
            if (committing && !took_place && is_unclear(e)) throw DbError(DbError::Kind::kLost, e.code(), e.what());
            if (impl_->learned) continue;
            if (impl_->relax(e)) continue;
            if (!impl_->worth_repeating(e) || attempt >= attempts) throw;
            count_retry(e);
        } catch (...) {
            impl_->roll_back();
            throw;
        }
        wait_a_little(attempt);
    }
}

void Database::one_statement(const std::function<void()>& work, const std::function<bool()>& took_place, int attempts) {
    for (int attempt = 1;; ++attempt) {
        try {
            return work();
        } catch (const DbError& e) {
            if (is_unclear(e) && impl_->find_out(took_place, impl_->session, e)) return;
            if (!impl_->worth_repeating(e) || attempt >= attempts) throw;
            count_retry(e);
        }
        wait_a_little(attempt);
    }
}

bool Database::in_transaction() const { return impl_->in_transaction; }
std::uint64_t Database::statements() const { return impl_->statements; }
std::uint64_t Database::commits() const { return impl_->commits; }

}  // namespace sluice
