// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// How a project is doing, in numbers for its status page and for monitoring. Each statement looks at a bounded number
// of entries of an index: where there is more, a count stops at kMostCounted.
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sluice/db/database.h"
#include "sluice/model/codes.h"

namespace sluice {

/// Of one app that is not deprecated.
struct AppWork {
    Id app = 0;
    std::string name, title;  ///< title: user_friendly_name
    std::int64_t unsent = 0, in_progress = 0;
    std::int64_t to_validate = 0, to_assimilate = 0;        ///< workunits
    double oldest_validation = 0, oldest_assimilation = 0;  ///< UNIX s since when the first ones wait; 0: none does
};

struct WorkBacklog {
    std::int64_t transitions = 0;     ///< workunits whose transition_time has passed
    double oldest_transition = 0;     ///< UNIX s; 0: none is due
    std::int64_t workunit_files = 0;  ///< whose files are to be deleted
    std::int64_t result_files = 0;
};

/// Results of an app that were valid in the last 24 hours.
struct AppDay {
    Id app = 0;
    double mean_runtime = 0, least_runtime = 0, most_runtime = 0;  ///< s
    std::int64_t users = 0;
};

/// Accounts and computers: nothing that says whose.
struct Population {
    std::int64_t with_credit = 0, with_recent_credit = 0, new_today = 0;
};
struct SpeedClass {
    double from = 0;  ///< operations a second of one processor; the class ends at twice as much
    std::int64_t hosts = 0;
};
struct Community {
    Population users, hosts;
    double recent_credit = 0;        ///< expavg_credit of all users
    std::vector<SpeedClass> speeds;  ///< of hosts with recent credit, the slowest first
};

class SurveyStore {
  public:
    static constexpr std::int64_t kMostCounted = 200'000, kMostOfADay = 20'000;
    virtual ~SurveyStore() = default;
    /// By id.
    virtual std::vector<AppWork> work() = 0;
    virtual WorkBacklog backlog(std::int64_t now) = 0;
    /// Of each app looks at the newest kMostOfADay results that are over. For once an hour, as the next one.
    virtual std::vector<AppDay> last_day(std::int64_t now) = 0;
    virtual Community community(std::int64_t now) = 0;
    /// "10.11.6-MariaDB".
    virtual std::string server_version() = 0;
};
std::unique_ptr<SurveyStore> make_survey_store(Database& db);

}  // namespace sluice
