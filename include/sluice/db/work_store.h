#pragma once
// What create_work writes.
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "sluice/db/database.h"
#include "sluice/model/records.h"

namespace sluice {

class WorkStore {
  public:
    virtual ~WorkStore() = default;
    virtual std::optional<App> app_by_name(const std::string& name) = 0;
    /// The geometric mean of rsc_fpops_est by size class, of the app's jobs among the newest workunits; classes without
    /// such jobs are absent.
    virtual std::map<int, double> typical_sizes(Id appid) = 0;
    virtual bool batch_exists(Id batch) = 0;
    /// Inserts the workunits and, for those with an assignment (same index, workunitid filled in here), the
    /// assignment: all or nothing. Sets their ids. Throws DbError(kDuplicate) if a name exists.
    virtual void insert(std::span<Workunit> workunits, std::span<const std::optional<Assignment>> assignments) = 0;
    /// Overwrites the row `workunit.id`; false if it does not exist.
    virtual bool update(const Workunit& workunit) = 0;
};

std::unique_ptr<WorkStore> make_work_store(Database& db);

}  // namespace sluice
