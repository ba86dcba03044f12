// SPDX-License-Identifier: LGPL-3.0-or-later
#include "db/mysql/own_tables.h"

#include <algorithm>
#include <string>
#include <vector>

#include "db/mysql/turns.h"
#include "sluice/db/schema_survey.h"
#include "sluice/db/tables_version.h"

namespace sluice {
namespace {

/// Before the first of our tables: they are of this version then. Killed in between, it leaves a database without a
/// version, which sluice upgrade gives it.
void write_version_of_first_tables(Database& db) {
    if (tables_version(db).any) return;
    db.execute(
        Sql("CREATE TABLE IF NOT EXISTS sluice_marks (name varchar(40) NOT NULL PRIMARY KEY, value bigint NOT NULL) "
            "ENGINE=InnoDB"));
    set_mark(db, "tables version", kCurrentTables);
}

}  // namespace

/// A lint compares them with the statements that make them.
std::span<const std::string_view> own_tables() {
    static constexpr std::string_view kNames[] = {
        "sluice_accel_job",      "sluice_accel_result",    "sluice_batch_event",
        "sluice_feeder",         "sluice_file_group",      "sluice_file_group_wu",
        "sluice_gang",           "sluice_gang_host",       "sluice_gang_job",
        "sluice_gang_lease",     "sluice_gang_version",    "sluice_gang_wait",
        "sluice_host_ltt",       "sluice_host_rpc",        "sluice_marks",
        "sluice_plan",           "sluice_plan_batch",      "sluice_plan_copy",
        "sluice_plan_eta",       "sluice_plan_host",       "sluice_plan_job",
        "sluice_plan_seen",      "sluice_plan_submission", "sluice_share_batch",
        "sluice_share_clock",    "sluice_share_day",       "sluice_share_lst",
        "sluice_share_measured", "sluice_share_speed",     "sluice_share_stream",
        "sluice_share_user"};
    return kNames;
}

void make_tables(Database& db, std::initializer_list<OwnTable> tables) {
    std::vector<std::string> names;
    for (const OwnTable& table : tables) names.emplace_back(table.name.text);
    Sql there("SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA=DATABASE() AND TABLE_NAME IN (");
    for (Rows rows = db.query(there.texts(names) << ")"); rows.next();) std::erase(names, rows.text(0));
    if (!names.empty()) write_version_of_first_tables(db);
    for (const OwnTable& table : tables) {
        if (std::ranges::find(names, table.name.text) == names.end()) continue;
        Sql create("CREATE TABLE IF NOT EXISTS ");
        db.execute(create << table.name << " (" << table.columns << ") ENGINE=InnoDB");
    }
}

}  // namespace sluice
