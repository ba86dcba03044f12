// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/db/work_store.h"

namespace sluice {
namespace {

class MysqlSupplyStore final : public SupplyStore {
  public:
    explicit MysqlSupplyStore(Database& db) : db_(db) {}

    std::optional<Workunit> workunit_by_name(const std::string& name) override {
        Sql sql(
            "SELECT id, appid, name, xml_doc, batch, rsc_fpops_est, rsc_fpops_bound, rsc_memory_bound, rsc_disk_bound, "
            "rsc_bandwidth_bound, canonical_credit, delay_bound, opaque, min_quorum, target_nresults, "
            "max_error_results, max_total_results, max_success_results, result_template_file, priority, fileset_id, "
            "transitioner_flags, size_class, keywords, app_version_num FROM workunit WHERE name=");
        Rows r = db_.query(sql << SqlText{name, 191});
        if (!r.next()) return std::nullopt;
        Workunit w;
        r.read(w.id, w.appid, w.name, w.xml_doc, w.batch, w.rsc_fpops_est, w.rsc_fpops_bound, w.rsc_memory_bound,
               w.rsc_disk_bound, w.rsc_bandwidth_bound, w.canonical_credit, w.delay_bound, w.opaque, w.min_quorum,
               w.target_nresults, w.max_error_results, w.max_total_results, w.max_success_results,
               w.result_template_file, w.priority, w.fileset_id, w.transitioner_flags, w.size_class, w.keywords,
               w.app_version_num);
        return w;
    }

    std::int64_t unsent_results(Id appid, std::int64_t most) override {
        Sql sql("SELECT COUNT(*) FROM (SELECT 1 FROM result WHERE server_state IN (");
        sql << ServerState::kInactive << "," << ServerState::kUnsent << ") AND appid=" << appid << " LIMIT " << most;
        return number(sql << ") counted");
    }

    std::int64_t workunits(std::int64_t most) override {
        Sql sql("SELECT COUNT(*) FROM (SELECT 1 FROM workunit LIMIT ");
        return number(sql << most << ") counted");
    }

    bool is_new(Id workunit) override {
        Sql sql("SELECT COUNT(*) FROM workunit w WHERE error_mask=0 AND id=");
        return number(sql << workunit << " AND NOT EXISTS (SELECT 1 FROM result WHERE workunitid=w.id)") > 0;
    }

  private:
    std::int64_t number(const Sql& sql) {
        Rows r = db_.query(sql);
        return r.next() ? r.i64(0) : 0;
    }
    Database& db_;
};

}  // namespace

std::unique_ptr<SupplyStore> make_supply_store(Database& db) { return std::make_unique<MysqlSupplyStore>(db); }

}  // namespace sluice
