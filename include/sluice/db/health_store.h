// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What sluice health asks the database. Every statement reads a bounded number of rows by an index. Times are UNIX s,
// 0: never.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sluice/db/database.h"
#include "sluice/model/codes.h"

namespace sluice {

inline constexpr std::int64_t kMostCounted = 10000, kNewestResults = 1000;

/// Rows that wait, counted to kMostCounted, and since when the oldest of these does.
struct WaitingRows {
    std::int64_t rows = 0;
    double oldest = 0;
};

/// UNSENT results of a size class; -1: of none.
struct UnsentJobs {
    int size_class = -1;
    WaitingRows waiting;
};

/// Of an app's newest results that are over (at most kNewestResults), those that came, or whose deadline was, in a
/// certain time. Results of cancelled workunits are left out, and those that batch_planner gave up whose deadline is
/// yet to come. Only a result that a host calls a success is valid or invalid; upstream marks each of the others
/// invalid, too.
struct Outcomes {
    static constexpr std::int64_t kEnough = 10;  ///< fewer prove nothing
    std::int64_t reported = 0;
    std::int64_t download_errors = 0, compute_errors = 0, timeouts = 0;
    std::int64_t valid = 0, invalid = 0;

    bool downloads_fail() const { return reported >= kEnough && 2 * download_errors >= reported; }
    bool none_is_valid() const { return valid == 0 && invalid >= kEnough; }
};
struct LastOutcomes {
    Outcomes last_hour, day_before;
};

/// A transaction that waits for a lock of another one.
struct LockWait {
    double seconds = 0;
    std::int64_t blocking_thread = 0;
    std::string blocker;  ///< USER at HOST, if the server tells
};

class HealthStore {
  public:
    virtual ~HealthStore() = default;
    virtual double server_time() = 0;
    /// The server takes no writes, or none of this account.
    virtual bool read_only() = 0;
    virtual WaitingRows due_transitions(std::int64_t now) = 0;
    /// Workunits whose files may be deleted.
    virtual WaitingRows to_delete() = 0;
    virtual WaitingRows to_validate(Id app) = 0;
    virtual WaitingRows to_assimilate(Id app) = 0;
    /// By size class; together counted to kMostCounted.
    virtual std::vector<UnsentJobs> unsent(Id app) = 0;
    virtual LastOutcomes last_outcomes(Id app, std::int64_t now) = 0;
    /// nullopt: the account may not look (GRANT PROCESS), or the server keeps that elsewhere. MariaDB looks anew only
    /// after 0.1 s in which nobody asked it: who asks faster gets the old answer, for ever.
    virtual std::optional<std::vector<LockWait>> lock_waits() = 0;
};

std::unique_ptr<HealthStore> make_health_store(Database& db);

}  // namespace sluice
