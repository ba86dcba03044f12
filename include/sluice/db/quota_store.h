// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Who may use how much of the project, and who used what: accounts, quotas (user_submit) and results, for
// `sluice_batch quota` and `usage`.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sluice/db/database.h"
#include "sluice/model/codes.h"

namespace sluice {

struct NamedUser {
    Id id = 0;
    std::string name, email;
};

/// A row of user_submit with its account; or an account that owns a batch that is not over, without such a row.
struct QuotaRow {
    NamedUser user;
    bool has_row = false;
    double quota = 0;  ///< as it is stored
    bool submit_all = false, manage_all = false;
    int max_jobs_in_progress = 0;
};

/// What instances that came back used, of one user and one kind of app version.
struct UsageRow {
    Id user_id = 0;  ///< 0: jobs without a batch; kOfABatchThatIsGone
    static constexpr Id kOfABatchThatIsGone = -1;
    Id version = 0;  ///< below 0: anonymous platform; else only the plan class tells
    std::string plan_class;
    std::int64_t instances = 0;
    double processor_seconds = 0, device_seconds = 0;  ///< measured as for a processor, and as for a GPU
    double operations = 0;                             ///< as shares are charged (docs/batches.md)
    double credit = 0;
};

class QuotaStore {
  public:
    virtual ~QuotaStore() = default;
    virtual std::optional<NamedUser> user(Id id) = 0;
    /// Accounts of this e-mail address or name.
    virtual std::vector<NamedUser> users_called(const std::string& text) = 0;
    /// By user.
    virtual std::vector<QuotaRow> quotas() = 0;
    /// May be repeated. The other columns of a row that is there stay as they are.
    virtual void set_quota(Id user, double quota) = 0;
    /// Of instances that came back since then. Reads the whole table of results.
    virtual std::vector<UsageRow> usage(std::int64_t since) = 0;
};
std::unique_ptr<QuotaStore> make_quota_store(Database& db);

}  // namespace sluice
