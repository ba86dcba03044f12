// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What the database holds about one host besides its row: host_app_version, and messages to and from it.
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sluice/model/host.h"

namespace sluice {

struct PendingMessage {
    Id id = 0;
    std::string xml;
};
struct HostState {
    std::vector<HostAppVersion> versions;
    std::vector<PendingMessage> messages;  ///< not handled yet, oldest first
    /// Verdicts of batch_stats (level 1) on this host's versions: generalized id, whether its turnaround is low.
    std::vector<std::pair<Id, bool>> low_turnaround;
};

/// Changes of one host_app_version row, as increments: other daemons change the row at the same time. A missing row is
/// inserted with the same numbers.
struct VersionChange {
    Id generalized_id = 0;
    int jobs_sent = 0;         ///< added to n_jobs_today
    int max_jobs_per_day = 0;  ///< added to max_jobs_per_day, result at least 1
    bool lost_trust = false;   ///< consecutive_valid := 0
};

struct MessageFromHost {
    std::string variety, xml;
};

/// A day of an account, for what its hosts may send in one.
struct AccountDay {
    Id userid = 0;
    std::int64_t day = 0;
};

class HostStateStore {
  public:
    virtual ~HostStateStore() = default;
    /// One statement. `with_turnaround`: the verdicts too (ProjectTables::has_turnaround_verdicts).
    virtual HostState load(Id hostid, bool with_messages, bool with_turnaround = false) = 0;
    /// `new_day`: n_jobs_today of every row of `changes` counts from 0 again.
    virtual void change_versions(Id hostid, bool new_day, std::span<const VersionChange> changes) = 0;
    virtual void insert_messages(Id hostid, std::int64_t now, std::span<const MessageFromHost> messages) = 0;
    /// What was stored of the account's trickle messages on that day; 0 where it can't be counted.
    virtual std::int64_t trickle_bytes(const AccountDay& account) = 0;
    virtual void add_trickle_bytes(const AccountDay& account, std::int64_t bytes) = 0;
    /// msg_to_host.handled := 1 for those that are still open.
    virtual void mark_delivered(std::span<const Id> messages) = 0;
};

}  // namespace sluice
