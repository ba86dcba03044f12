// SPDX-License-Identifier: LGPL-3.0-or-later
#include "db/mysql/turns.h"

#include <algorithm>

#include "db/mysql/errors.h"
#include "db/mysql/own_tables.h"

namespace sluice {

void make_marks(Database& db) {
    make_tables(db, {{"sluice_marks", "name varchar(40) NOT NULL PRIMARY KEY, value bigint NOT NULL"}});
}

void set_mark(Database& db, const std::string& name, Id value) {
    Sql sql("INSERT INTO sluice_marks (name, value) VALUES (");
    db.execute(sql << SqlText{name, 40} << "," << value << ") ON DUPLICATE KEY UPDATE value=VALUES(value)");
}

Id read_mark(Database& db, const std::string& name) {
    Sql sql("SELECT value FROM sluice_marks WHERE name=");
    try {
        Rows r = db.query(sql << SqlText{name, 40});
        return r.next() ? r.i64(0) : 0;
    } catch (const DbError& e) {
        if (e.code() == kNoSuchTable) return 0;
        throw;
    }
}

Id first_open_batch(Database& db) { return std::max<Id>(0, read_mark(db, kFirstOpenBatch) - kMarkSlack); }

void transaction_in_turn(Database& db, const std::string& name, const std::function<void()>& work) {
    bool in_turn = false;
    const auto transaction = [&] {
        db.transaction([&] {
            in_turn = false;
            Sql turn("INSERT INTO sluice_marks (name, value) VALUES (");
            turn << SqlText{name, 40} << ",1) ON DUPLICATE KEY UPDATE value=value+1";
            db.execute_matching(turn, 0);  // in one round trip with BEGIN
            in_turn = true;
            work();
        });
    };
    try {
        return transaction();
    } catch (const DbError& e) {
        if (in_turn || e.code() != kNoSuchTable) throw;
    }
    make_marks(db);  // outside the transaction, which it would commit
    transaction();
}

}  // namespace sluice
