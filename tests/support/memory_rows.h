#pragma once
// The rows of a FakeDb in a MemoryDb, and back: contract suites prepare the one, and run on the stores of both.
#include "db/memory/memory_db.h"
#include "tests/support/fake_db.h"

namespace sluice::test {

inline MemoryDb memory_of(const FakeDb& rows) {
    MemoryDb db;
    const auto put = [](const auto& from, auto& into) {
        for (const auto& [key, row] : from) into.put(key, row);
    };
    put(rows.platforms, db.platforms), put(rows.apps, db.apps), put(rows.versions, db.versions);
    put(rows.users, db.users), put(rows.teams, db.teams), put(rows.hosts, db.hosts);
    put(rows.host_attempts, db.host_attempts), put(rows.host_trickle_bytes, db.host_trickle_bytes);
    put(rows.host_app_versions, db.host_app_versions), put(rows.workunits, db.workunits);
    put(rows.results, db.results), put(rows.assignments, db.assignments), put(rows.batches, db.batches);
    put(rows.file_groups, db.file_groups);
    for (const auto& member : rows.group_workunits) db.group_workunits.put(member, true);
    put(rows.low_turnaround, db.low_turnaround), put(rows.account_trickles, db.account_trickles);
    const auto put_messages = [](const auto& from, auto& into) {
        for (const auto& [id, m] : from) into.put(id, {m.id, m.hostid, m.create_time, m.variety, m.xml, m.handled});
    };
    put_messages(rows.from_host, db.from_host), put_messages(rows.to_host, db.to_host);
    return db;
}

inline FakeDb rows_of(const MemoryDb& db) {
    FakeDb rows;
    const auto put = [](const auto& from, auto& into) {
        for (const auto& [key, row] : from.rows()) into[key] = row;
    };
    put(db.platforms, rows.platforms), put(db.apps, rows.apps), put(db.versions, rows.versions);
    put(db.users, rows.users), put(db.teams, rows.teams), put(db.hosts, rows.hosts);
    put(db.host_attempts, rows.host_attempts), put(db.host_trickle_bytes, rows.host_trickle_bytes);
    put(db.host_app_versions, rows.host_app_versions), put(db.workunits, rows.workunits);
    put(db.results, rows.results), put(db.assignments, rows.assignments), put(db.batches, rows.batches);
    put(db.file_groups, rows.file_groups);
    for (const auto& [member, there] : db.group_workunits.rows()) rows.group_workunits.insert(member);
    put(db.low_turnaround, rows.low_turnaround), put(db.account_trickles, rows.account_trickles);
    const auto put_messages = [](const auto& from, auto& into) {
        for (const auto& [id, m] : from.rows()) into[id] = {m.id, m.hostid, m.create_time, m.variety, m.xml, m.handled};
    };
    put_messages(db.from_host, rows.from_host), put_messages(db.to_host, rows.to_host);
    return rows;
}

}  // namespace sluice::test
