// SPDX-License-Identifier: LGPL-3.0-or-later
#include "db/mysql/file_groups.h"

#include <algorithm>
#include <map>
#include <set>

#include "db/mysql/errors.h"
#include "db/mysql/own_tables.h"

namespace sluice {
namespace {

constexpr std::int64_t kForgetAfter = 90 * 86400;  ///< s: who has not been here for so long keeps the file

constexpr SqlLiteral kNoWork{
    "idle_since=0 AND NOT EXISTS (SELECT 1 FROM sluice_file_group_wu j WHERE j.group_id=g.id)"};

}  // namespace

void prepare_file_groups(Database& db) {
    make_tables(db, {{"sluice_file_group",
                      "id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, name varbinary(254) NOT NULL, "
                      "idle_since bigint NOT NULL, UNIQUE KEY group_name (name), KEY group_idle (idle_since)"},
                     {"sluice_file_group_wu",
                      "group_id bigint NOT NULL, workunitid bigint NOT NULL, PRIMARY KEY (group_id, workunitid), "
                      "UNIQUE KEY group_of_wu (workunitid)"}});
}

void add_to_file_groups(Database& db, std::span<const Workunit> workunits, std::span<const std::string> files) {
    const std::set<std::string> names(files.begin(), files.end());  // in order: groups are locked in it
    Sql groups("INSERT INTO sluice_file_group (name, idle_since) VALUES ");
    Sql ids("SELECT id, name FROM sluice_file_group WHERE name IN (");
    bool any = false;
    for (const std::string& name : names) {
        if (name.empty()) continue;
        if (any) {
            groups << ",";
            ids << ",";
        }
        groups << "(" << SqlBlob{name} << ",0)";
        ids << SqlBlob{name};
        any = true;
    }
    if (!any) return;
    db.execute(groups << " ON DUPLICATE KEY UPDATE idle_since=0");
    std::map<std::string, Id> id_of;
    // As it is now: another program may have made a group since this transaction began.
    for (Rows rows = db.query(ids << ") FOR UPDATE"); rows.next();) id_of[rows.text(1)] = rows.i64(0);
    Sql members("INSERT IGNORE INTO sluice_file_group_wu (group_id, workunitid) VALUES ");
    any = false;
    for (std::size_t i = 0; i < workunits.size(); ++i) {
        if (files[i].empty()) continue;
        if (any) members << ",";
        members << "(" << id_of.at(files[i]) << "," << workunits[i].id << ")";
        any = true;
    }
    db.execute(members);
}

std::vector<FileGroup> read_file_groups(Database& db, int most) {
    std::vector<FileGroup> groups;
    try {
        Sql sql(
            "SELECT g.id, g.name, g.idle_since, (SELECT j.workunitid FROM sluice_file_group_wu j WHERE j.group_id=g.id "
            "ORDER BY j.workunitid LIMIT 1), (SELECT j.workunitid FROM sluice_file_group_wu j WHERE j.group_id=g.id "
            "ORDER BY j.workunitid DESC LIMIT 1) FROM sluice_file_group g ORDER BY g.id DESC LIMIT ");
        for (Rows rows = db.query(sql << most); rows.next();)
            groups.push_back({rows.text(1), rows.i64(0), rows.i64(3), rows.i64(4), rows.i64(3) != 0 ? 0 : rows.i64(2)});
    } catch (const DbError& e) {
        if (e.code() != kNoSuchTable) throw;
    }
    std::sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    return groups;
}

void FileGroupKeeper::keep(std::int64_t now) {
    try {
        remove_done();
        note_idle(now);
    } catch (const DbError& e) {
        if (e.code() != kNoSuchTable) throw;
    }
}

void FileGroupKeeper::remove_done() {
    Sql page("SELECT j.group_id, j.workunitid, w.id IS NULL OR w.file_delete_state<>");
    page << FileDeleteState::kInit << " FROM (SELECT group_id, workunitid FROM sluice_file_group_wu WHERE group_id>"
         << group_ << " OR (group_id=" << group_ << " AND workunitid>" << workunit_
         << ") ORDER BY group_id, workunitid LIMIT " << kStretch
         << ") j LEFT JOIN workunit w ON w.id=j.workunitid ORDER BY j.group_id, j.workunitid";
    std::vector<Id> done;
    int seen = 0;
    for (Rows rows = db_.query(page); rows.next(); ++seen) {
        group_ = rows.i64(0), workunit_ = rows.i64(1);
        if (rows.flag(2)) done.push_back(workunit_);
    }
    if (seen < kStretch) group_ = workunit_ = 0;
    if (done.empty()) return;
    std::sort(done.begin(), done.end());
    Sql gone("DELETE FROM sluice_file_group_wu WHERE workunitid IN (");
    db_.execute(gone.ids(done) << ")");
}

void FileGroupKeeper::note_idle(std::int64_t now) {
    // Where several nodes of a cluster commit, jobs may have come on another one while this note was made.
    db_.execute(Sql(
        "UPDATE sluice_file_group g SET idle_since=0 WHERE g.idle_since>0 AND EXISTS (SELECT 1 FROM sluice_file_group_wu "
        "j WHERE j.group_id=g.id)"));
    Sql idle("SELECT g.id FROM sluice_file_group g WHERE g.");
    std::vector<Id> ids;
    for (Rows rows = db_.query(idle << kNoWork << " ORDER BY g.id LIMIT " << kAtOnce); rows.next();)
        ids.push_back(rows.i64(0));
    if (!ids.empty()) {
        // Asked again: jobs may have come in between, and who inserts them holds the group's row.
        Sql note("UPDATE sluice_file_group g SET idle_since=");
        (note << now << " WHERE g.id IN (").ids(ids) << ") AND g." << kNoWork;
        db_.execute(note);
    }
    Sql old("DELETE FROM sluice_file_group WHERE idle_since>0 AND idle_since<");
    db_.execute(old << now - kForgetAfter
                    << " AND NOT EXISTS (SELECT 1 FROM sluice_file_group_wu j WHERE j.group_id=sluice_file_group.id) "
                       "LIMIT "
                    << kAtOnce);
}

}  // namespace sluice
