// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What assimilators read and write.
#include <memory>
#include <optional>
#include <span>
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

struct AssimilatedWorkunit {
    Id id = 0;
    int error_mask = 0;  ///< bits that are added (32: no canonical result)
};

class AssimilateStore {
  public:
    virtual ~AssimilateStore() = default;
    virtual std::optional<Id> app_id(const std::string& name) = 0;
    /// Workunits that are READY, ids above `after`, at most `limit`.
    virtual std::vector<Assimilable> page(const WorkunitFilter& filter, Id after, int limit) = 0;
    /// All of these workunits' rows and their results', documents and stderr_out included, by id. One that is gone is
    /// left out.
    virtual std::vector<WorkunitWithResults> whole(std::span<const Id> workunits) = 0;
    /// READY -> DONE in one statement, and the transitioner is called. `workunits`: one or more, ids ascend. Returns of
    /// how many this was true: of the others somebody else did it.
    virtual std::int64_t done(std::span<const AssimilatedWorkunit> workunits, std::int64_t now) = 0;
};

std::unique_ptr<AssimilateStore> make_assimilate_store(Database& db);

}  // namespace sluice
