// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/db/hr_census_store.h"
#include "sluice/model/host.h"

namespace sluice {
namespace {

class MysqlHrCensusStore final : public HrCensusStore {
  public:
    explicit MysqlHrCensusStore(Database& db) : db_(db) {}

    void hosts(double min_credit, bool with_platforms, const Row& row) override {
        Sql sql("SELECT os_name, p_vendor, p_model, expavg_credit, ");
        if (with_platforms)
            sql << "COALESCE((SELECT p.name FROM host_app_version v JOIN app_version a ON a.id=v.app_version_id "
                   "JOIN platform p ON p.id=a.platformid WHERE v.host_id=host.id ORDER BY v.app_version_id DESC "
                   "LIMIT 1), '')";
        else
            sql << "''";
        db_.query_streaming(sql << " FROM host WHERE expavg_credit>" << min_credit, [&](const Rows& r) {
            Host host;
            std::string platform;
            r.read(host.os_name, host.p_vendor, host.p_model, host.expavg_credit, platform);
            row(host, platform);
        });
    }

  private:
    Database& db_;
};

}  // namespace

std::unique_ptr<HrCensusStore> make_hr_census_store(Database& db) { return std::make_unique<MysqlHrCensusStore>(db); }

}  // namespace sluice
