// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/db/work_store.h"

namespace sluice {
namespace {

class MysqlJobCheckStore final : public JobCheckStore {
  public:
    explicit MysqlJobCheckStore(Database& db) : db_(db) {}

    std::vector<OpenResult> page(ServerState state, Id after, int limit) override {
        Sql sql("SELECT r.id, w.xml_doc FROM result r JOIN workunit w ON w.id=r.workunitid WHERE r.server_state=");
        sql << state << " AND r.id>" << after << " ORDER BY r.id LIMIT " << limit;
        std::vector<OpenResult> results;
        for (Rows r = db_.query(sql); r.next();) {
            OpenResult& each = results.emplace_back();
            r.read(each.id, each.xml_doc);
        }
        return results;
    }

    std::int64_t end_unsent(const std::vector<Id>& results, std::int64_t now) override {
        if (results.empty()) return 0;
        std::int64_t ended = 0;
        db_.transaction([&] {
            // Workunits first, as everywhere.
            std::vector<Id> workunits;
            Sql owners("SELECT DISTINCT workunitid FROM result WHERE id IN (");
            for (Rows r = db_.query(owners.ids(results) << ") ORDER BY workunitid"); r.next();)
                workunits.push_back(r.i64(0));
            if (workunits.empty()) return;
            Sql due("UPDATE workunit SET transition_time=");
            db_.execute((due << now << " WHERE id IN (").ids(workunits) << ")");
            Sql end("UPDATE result SET server_state=");
            end << ServerState::kOver << ", outcome=" << Outcome::kCouldntSend
                << " WHERE server_state=" << ServerState::kUnsent << " AND id IN (";
            ended = db_.execute(end.ids(results) << ")");
        });
        return ended;
    }

  private:
    Database& db_;
};

}  // namespace

std::unique_ptr<JobCheckStore> make_job_check_store(Database& db) { return std::make_unique<MysqlJobCheckStore>(db); }

}  // namespace sluice
