// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// One connection to MySQL or MariaDB. Stores (db/*_store.h) speak the domain's verbs over it; nothing above db/
// sees SQL. Not thread-safe: one Database a thread.
//
// Session: utf8mb4, UTC, strict mode (what a column can't hold: db/mysql/unfit.h), found-rows semantics ("affected" =
// rows matched by WHERE, which the guards "… AND server_state = 2" rely on). Connecting costs one round trip beyond the
// handshake.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "sluice/base/error.h"
#include "sluice/db/sql.h"

namespace sluice {

struct DbSettings {
    std::string host;  ///< HOST[:PORT], "" or "localhost" = unix socket ($MYSQL_UNIX_PORT); A,B,C: nodes of a cluster
    std::string name, user, password;
    /// PEM file with the authority that signed the server's certificate. If given, a connection over TCP is encrypted,
    /// certificate and name of the server are checked, and without that there is none. The socket needs nothing.
    std::string ssl_ca{};
    bool read_uncommitted = false;  ///< feeder, census: readers that never wait
    bool read_only = false;         ///< the server refuses every write of this session (dry runs)
    /// A client waits for the answer, and jobs are claimed meanwhile: waits for a lock 2 s at most (others: 10 s) and
    /// does not repeat a transaction that waited in vain.
    bool interactive = false;
    /// A service that is not alone in its process, and does the same again in its next turn: waits for a row 1 s at
    /// most, for a table 2 s, and does not repeat a transaction that waited in vain. DbError(kRetry) goes up.
    bool turn_comes_again = false;
    /// Where somebody waits, for all locks and whatever else is slow, in s: how long a statement may take (MariaDB),
    /// and after how long a transaction begins no other. DbError(kRetry) then.
    double patience = 10;
    /// Where nobody waits, a statement may take as long as it likes; but after each so many s without a word of the
    /// server it is asked, by a new connection, whether it is there at all. Twice no answer: DbError(kLost).
    double silence = 30;
};

/// A result set, wholly in memory. Columns by index; SQL NULL reads as 0 or "".
class Rows {
  public:
    Rows();
    Rows(Rows&&) noexcept;
    Rows& operator=(Rows&&) noexcept;
    ~Rows();
    bool next();  ///< to the next row; false at the end
    std::int64_t i64(int column) const;
    int i32(int column) const { return static_cast<int>(i64(column)); }
    double f64(int column) const;
    bool flag(int column) const { return i64(column) != 0; }
    std::string text(int column) const;
    template <typename E>
    E code(int column) const {
        return static_cast<E>(i64(column));
    }
    /// The columns from the first (or that) one on, each into a variable of its type.
    template <typename... Fields>
    void read(Fields&... fields) const {
        read_from(0, fields...);
    }
    template <typename... Fields>
    void read_from(int column, Fields&... fields) const {
        (take(column++, fields), ...);
    }
    std::size_t size() const;

    struct Impl;
    explicit Rows(std::unique_ptr<Impl> impl);

  private:
    template <typename T>
    void take(int column, T& field) const {
        if constexpr (std::is_same_v<T, std::string>)
            field = text(column);
        else if constexpr (std::is_same_v<T, bool>)
            field = flag(column);
        else if constexpr (std::is_same_v<T, double>)
            field = f64(column);
        else
            field = static_cast<T>(i64(column));
    }
    std::unique_ptr<Impl> impl_;
};

class Database {
  public:
    /// Does not connect yet: the first statement does.
    explicit Database(DbSettings settings);
    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;
    ~Database();

    /// Throws DbError(kCantConnect). Without effect when connected.
    void connect();
    /// After kLost: the next statement connects anew. Any transaction is gone.
    void disconnect();
    bool connected() const;

    /// SELECT. Throws DbError. Outside a transaction, a lost connection is re-made once and the query repeated.
    Rows query(const Sql& sql);
    /// `begin`, a SELECT that lacks an id at its end, with `id`: for one that many requests of a connection send.
    /// MariaDB keeps it prepared from its second time on, which costs a statement once and half of the server's work is
    /// saved.
    Rows query_often(const Sql& begin, Id id);
    /// SELECT with many rows, unbuffered: `row` is called for each; memory stays bounded.
    void query_streaming(const Sql& sql, const std::function<void(const Rows&)>& row);
    /// INSERT, UPDATE, DELETE …: the number of rows matched by WHERE (inserted, for INSERT). Throws DbError.
    /// Never repeated by itself: the caller knows whether that is safe.
    std::int64_t execute(const Sql& sql);
    /// The same, and what enqueue() kept before it, in one statement to the server where that takes a block of them
    /// (MariaDB): one round trip. False: WHERE matched fewer than `least` rows (it was done all the same). What came
    /// first in a transaction is repeated once if the connection is lost: nothing of it is left then.
    bool execute_matching(const Sql& sql, std::int64_t least);
    /// A write of a transaction for whose count nobody asks: sent with the next statement, at the latest before COMMIT,
    /// where its error goes up then. Outside a transaction: at once.
    void enqueue(Sql sql);
    /// A write of a transaction that must match `least` rows. It is sent like that of enqueue(), and COMMIT goes with
    /// it if transaction() has a `took_place`. If it matches fewer, nothing behind it is done, and `fewer` is called,
    /// which throws. Outside a transaction: at once, and it need not throw.
    void enqueue_matching(Sql sql, std::int64_t least, std::function<void()> fewer);
    Id last_insert_id() const;

    /// Runs `work` in one transaction: BEGIN (with the first statement) … COMMIT; an exception rolls back and goes on
    /// up. On kRetry (deadlock, lock wait) `work` is repeated, at most `attempts` times in all, with a short random
    /// wait.
    ///
    /// A COMMIT whose answer is lost may have taken place. Then `took_place` is asked, outside the transaction and on a
    /// new connection: it reads, with FOR UPDATE (an attempt that still hangs holds its locks), something that only
    /// this attempt can have written. True: all is well. False: nothing was written, DbError(kLost) goes up. If the
    /// server stays away: kOther, with a text that says so. Without `took_place` kLost says nothing: for callers who
    /// then read anew what there is to do, under locks, and would find nothing.
    void transaction(const std::function<void()>& work, const std::function<bool()>& took_place = {}, int attempts = 5);
    /// The same for `work` that sends one statement, outside any transaction: it is committed by itself.
    void one_statement(const std::function<void()>& work, const std::function<bool()>& took_place, int attempts = 5);
    bool in_transaction() const;

    /// Statements sent since construction, BEGIN, COMMIT and session set-up included (ARCHITECTURE §6 bounds).
    std::uint64_t statements() const;
    /// Commits since construction (autocommitted writes included).
    std::uint64_t commits() const;
    /// Bulk writers start a new statement from this size on: well below the server's max_allowed_packet (16 MB).
    static constexpr std::size_t kBulkBytes = 2u << 20;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace sluice
