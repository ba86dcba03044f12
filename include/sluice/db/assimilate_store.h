// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What assimilators read and write.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sluice/db/database.h"
#include "sluice/db/validate_store.h"
#include "sluice/model/job.h"

namespace sluice {

struct Assimilable {
    Workunit wu;
    std::optional<Result> canonical;
};

class AssimilateStore {
  public:
    virtual ~AssimilateStore() = default;
    virtual std::optional<Id> app_id(const std::string& name) = 0;
    /// Workunits that are READY, ids above `after`, at most `limit`.
    virtual std::vector<Assimilable> page(const WorkunitFilter& filter, Id after, int limit) = 0;
    /// READY -> DONE, and the transitioner is called. `error_mask` bits are added (32: no canonical result).
    /// False: somebody else did it.
    virtual bool done(Id wu_id, int error_mask, std::int64_t now) = 0;
};

std::unique_ptr<AssimilateStore> make_assimilate_store(Database& db);

}  // namespace sluice
