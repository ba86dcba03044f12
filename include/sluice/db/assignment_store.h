// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// Targeted and broadcast jobs: rows of `assignment`, and the results that the scheduler itself makes for them.
#include <span>
#include <vector>

#include "sluice/model/catalogue.h"
#include "sluice/model/job.h"

namespace sluice {

/// The instances of a workunit, counted as the transitioner does.
struct InstanceCounts {
    Id workunitid = 0;
    int unsent = 0, in_progress = 0, successful = 0;  ///< successful: not found invalid
    bool on_this_host = false;                        ///< this host has or had an instance
};

/// An assignment that may concern this host, with the state of its workunit.
struct AssignedJob {
    Assignment assignment;
    bool workunit_found = false;
    Workunit workunit;
    InstanceCounts instances;
};
struct AssignmentQuery {
    Id hostid = 0, userid = 0, teamid = 0;
    bool targeted = false;               ///< assignments with multi = 0 for this host, user or team
    std::vector<Assignment> broadcasts;  ///< those that apply, from the tables in shared memory
    bool appointed = false;              ///< the job that gang_planner has given to this host; nothing else then
};

class AssignmentStore {
  public:
    virtual ~AssignmentStore() = default;
    /// Targeted ones for the user, then the host, then the team; then the broadcasts in the order asked.
    virtual std::vector<AssignedJob> load(const AssignmentQuery& query) = 0;
    /// In a transaction, after the workunits' locks were taken: their instances as they are at this moment.
    virtual std::vector<InstanceCounts> instances_now(std::span<const Id> workunits, Id hostid) = 0;
    /// Inserts results as they are (in progress on the host).
    virtual void insert_results(std::span<const Result> results) = 0;
    virtual void remove(std::span<const Id> assignments) = 0;
};

}  // namespace sluice
