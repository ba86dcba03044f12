#include "sluice/db/fleet_store.h"

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
            h.p_fpops = r.f64(0);
            h.p_ncpus = r.i32(1);
            h.p_ngpus = r.i32(2);
            h.m_nbytes = r.f64(3);
            h.d_free = r.f64(4);
            h.on_frac = r.f64(5);
            h.active_frac = r.f64(6);
            h.avg_turnaround = r.f64(7);
            h.os_name = r.text(8);
            h.p_vendor = r.text(9);
            h.p_model = r.text(10);
            row(h);
        });
    }

    std::vector<App> apps() override {
        Rows r = db_.query(
            Sql("SELECT name, n_size_classes, homogeneous_redundancy FROM app WHERE deprecated=0 ORDER BY id"));
        std::vector<App> apps;
        while (r.next()) {
            App& app = apps.emplace_back();
            app.name = r.text(0);
            app.n_size_classes = r.i32(1);
            app.homogeneous_redundancy = r.code<HrType>(2);
        }
        return apps;
    }

  private:
    Database& db_;
};

}  // namespace

std::unique_ptr<FleetStore> make_fleet_store(Database& db) { return std::make_unique<MysqlFleetStore>(db); }

}  // namespace sluice
