// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What validators read and write.
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sluice/db/database.h"
#include "sluice/model/catalogue.h"
#include "sluice/model/host.h"
#include "sluice/model/id_share.h"
#include "sluice/model/job.h"

namespace sluice {

/// Which workunits a validator or assimilator looks at.
struct WorkunitFilter {
    Id appid = 0;
    IdShare share = {};
    Id wu_id = 0;                     ///< only this one
    Id min_wu_id = 0, max_wu_id = 0;  ///< 0 = open
    bool with_stderr = false;         ///< results come with their stderr_out and xml_doc_out
};

struct WorkunitWithResults {
    Workunit wu;
    std::vector<Result> results;
};

/// What validation changes in one workunit; see daemons/validator/plan.h for the meaning of the parts.
struct ValidationWrite {
    struct ResultRow {
        Id id = 0;
        ServerState server_state = ServerState::kOver, was_server_state = ServerState::kOver;
        Outcome outcome = Outcome::kSuccess;
        ValidateState validate_state = ValidateState::kInit, was_validate_state = ValidateState::kInit;
        double granted_credit = 0;
        bool runtime_outlier = false;
        std::optional<double> opaque = {};  ///< empty: unchanged
    };
    /// Statistics of a host and version that a verdict changes.
    struct HostRow {
        Id hostid = 0, userid = 0, teamid = 0, generalized_version = 0, app_version_id = 0;
        bool valid = false;
        bool trust = false;                         ///< counts towards consecutive_valid
        bool grants = true;                         ///< false: credit and its averages are left alone
        bool outlier = false;                       ///< not a sample of the version's turnaround either
        double credit = 0;                          ///< granted now
        double started = 0;                         ///< sent_time, for the recent average
        double turnaround = -1, et = -1, pfc = -1;  ///< samples; < 0: none
        int quota = 0;                              ///< daily_result_quota
        Id credit_appid = 0;                        ///< <credit_by_app>: credit is kept for this app, too; 0: it is not
    };
    Id canonical_resultid = 0;
    double canonical_credit = 0;
    int error_mask = 0;
    bool assimilate = false;
    int target_nresults = 0;
    std::int64_t transition_time = 0;
    bool still_needed = false;  ///< an output could not be read: need_validate stays set
    std::vector<ResultRow> results;
    std::vector<Id> cancel;
    std::vector<HostRow> hosts;
};

/// What was decided on a workunit, and from what.
struct ValidationStep {
    const WorkunitWithResults* read;
    const ValidationWrite* write;
};

/// What became of a ValidationStep.
enum class Validated {
    kWritten,
    kGone,    ///< nothing written: nobody asks for validation any more (another validator was quicker)
    kChanged  ///< nothing written: the rows are not what the decision was made from; read and decide again
};

class ValidateStore {
  public:
    virtual ~ValidateStore() = default;
    virtual std::optional<App> app_by_name(const std::string& name) = 0;
    /// Workunits with need_validate, ids above `after`, at most `limit`, each with all its results.
    virtual std::vector<WorkunitWithResults> page(const WorkunitFilter& filter, Id after, int limit) = 0;
    virtual std::map<std::pair<Id, Id>, HostAppVersion> host_app_versions(std::span<const std::pair<Id, Id>> keys) = 0;
    virtual std::map<Id, AppVersion> versions(Id appid) = 0;
    /// In one transaction: locks the workunits, and writes each step if what it was decided from still stands there:
    /// limits, error mask and canonical result of the workunit, and the states of all its results, no more and no
    /// fewer. A transition that someone asked for since then is not put off. Statistics are added up in the order of
    /// the steps, of one workunit in the order of hosts. Returns for each step what became of it. All are kChanged if a
    /// program that takes no lock of the workunit was quicker with one of the results. A DbError: none is written.
    /// (kLost: all or none.) `steps`: ids of workunits ascend, none comes twice.
    virtual std::vector<Validated> apply(std::span<const ValidationStep> steps, double now) = 0;
    Validated apply(const WorkunitWithResults& read, const ValidationWrite& write, double now) {
        const ValidationStep step{&read, &write};
        return apply(std::span(&step, 1), now).front();
    }
};

std::unique_ptr<ValidateStore> make_validate_store(Database& db);

}  // namespace sluice
