#include "db/mysql/own_tables.h"

#include <string>
#include <vector>

namespace sluice {

void make_tables(Database& db, std::initializer_list<OwnTable> tables) {
    std::vector<std::string> names;
    for (const OwnTable& table : tables) names.emplace_back(table.name.text);
    Sql there("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA=DATABASE() AND TABLE_NAME IN (");
    Rows rows = db.query(there.texts(names) << ")");
    if (rows.next() && rows.i64(0) == static_cast<std::int64_t>(tables.size())) return;
    for (const OwnTable& table : tables) {
        Sql create("CREATE TABLE IF NOT EXISTS ");
        db.execute(create << table.name << " (" << table.columns << ") ENGINE=InnoDB");
    }
}

}  // namespace sluice
