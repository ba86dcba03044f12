#include "db/mysql/own_tables.h"

#include <algorithm>
#include <string>
#include <vector>

namespace sluice {

void make_tables(Database& db, std::initializer_list<OwnTable> tables) {
    std::vector<std::string> names;
    for (const OwnTable& table : tables) names.emplace_back(table.name.text);
    Sql there("SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA=DATABASE() AND TABLE_NAME IN (");
    for (Rows rows = db.query(there.texts(names) << ")"); rows.next();) std::erase(names, rows.text(0));
    for (const OwnTable& table : tables) {
        if (std::ranges::find(names, table.name.text) == names.end()) continue;
        Sql create("CREATE TABLE IF NOT EXISTS ");
        db.execute(create << table.name << " (" << table.columns << ") ENGINE=InnoDB");
    }
}

}  // namespace sluice
