#include "sluice/db/hr_census_store.h"

namespace sluice {
namespace {

class MysqlHrCensusStore final : public HrCensusStore {
  public:
    explicit MysqlHrCensusStore(Database& db) : db_(db) {}

    void hosts(double min_credit, const std::function<void(const Host&)>& row) override {
        Sql sql("SELECT os_name, p_vendor, p_model, expavg_credit FROM host WHERE expavg_credit>");
        db_.query_streaming(sql << min_credit, [&](const Rows& r) {
            Host host;
            r.read(host.os_name, host.p_vendor, host.p_model, host.expavg_credit);
            row(host);
        });
    }

  private:
    Database& db_;
};

}  // namespace

std::unique_ptr<HrCensusStore> make_hr_census_store(Database& db) { return std::make_unique<MysqlHrCensusStore>(db); }

}  // namespace sluice
