// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/db/fleet_store.h"
#include "sluice/model/host.h"

namespace sluice {
namespace {

class MysqlFleetStore final : public FleetStore {
  public:
    explicit MysqlFleetStore(Database& db) : db_(db) {}

    void hosts(std::int64_t heard_since, int most, const std::function<void(const Host&)>& row) override {
        Sql sql(
            "SELECT p_fpops, p_ncpus, p_ngpus, m_nbytes, d_free, on_frac, active_frac, avg_turnaround, os_name, p_vendor, "
            "p_model FROM host WHERE rpc_time>");
        sql << heard_since << " ORDER BY id DESC LIMIT " << most;
        db_.query_streaming(sql, [&](const Rows& r) {
            Host h;
            r.read(h.p_fpops, h.p_ncpus, h.p_ngpus, h.m_nbytes, h.d_free, h.on_frac, h.active_frac, h.avg_turnaround,
                   h.os_name, h.p_vendor, h.p_model);
            row(h);
        });
    }

    std::vector<App> apps() override {
        Rows r = db_.query(
            Sql("SELECT name, n_size_classes, homogeneous_redundancy FROM app WHERE deprecated=0 ORDER BY id"));
        std::vector<App> apps;
        while (r.next()) {
            App& app = apps.emplace_back();
            r.read(app.name, app.n_size_classes, app.homogeneous_redundancy);
        }
        return apps;
    }

  private:
    Database& db_;
};

}  // namespace

std::unique_ptr<FleetStore> make_fleet_store(Database& db) { return std::make_unique<MysqlFleetStore>(db); }

}  // namespace sluice
