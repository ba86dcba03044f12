// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A project in which sched_explain is to find one cause. As it stands, one job waits in the array and host 1 would get
// it; a case changes one thing.
#include <map>
#include <string>
#include <vector>

#include "sluice/model/catalogue.h"
#include "sluice/model/host.h"
#include "sluice/model/job.h"
#include "sluice/model/user.h"
#include "tests/support/scheduler_world.h"

namespace sluice::test {

struct Planted {
    Planted();

    // What a case may change before run(). Rows: platform 1, app 1 "up", version 1, user 1, host 1, workunit 1,
    // result 1.
    FakeDb rows;
    std::string config, config_aux, plan_classes;
    RequestText request;
    std::uint32_t slots = 20;                                ///< of the job array
    std::map<Id, std::vector<double>> quantiles;             ///< by app, as size_census measures them
    std::vector<std::pair<std::string, std::string>> edits;  ///< of the request's text: from, to
    std::vector<std::string> files;                          ///< name, text, name, text …
    BatchPlan plan;                                          ///< as batch_planner publishes it
    std::function<void(Database&)> after_fill;               ///< changes the database once the array is filled

    App& app() { return rows.apps[1]; }
    AppVersion& version() { return rows.versions[1]; }
    User& user() { return rows.users[1]; }
    Host& host() { return rows.hosts[1]; }
    Workunit& workunit() { return rows.workunits[1]; }
    Result& result() { return rows.results[1]; }
    /// The version needs a plan class of plan_class_spec.xml with these elements.
    void plan_class(const std::string& elements, const std::string& name = "special");
    /// The host has an NVIDIA card (8 GB, driver 535.54, CUDA 12.2, capability 8.6) and asks for work for it.
    void nvidia(bool opencl = true, double seconds = 1000);
    /// A result of a workunit of its own (or of workunit `wu`), in progress on a host.
    Result& in_progress(Id hostid, Id wu = 0);
    /// Another waiting job, like the first.
    Workunit& another_job();

    /// Stores everything, fills the array, writes request.xml.
    void store();
    SchedulerWorld& world() const;
    std::string request_text() const;
};

/// The real program in the world's folder.
RunResult explain(const Planted& planted, const std::vector<std::string>& args);
/// Every byte of the segment, a checksum of every table, every file of the project.
std::string state_of(const Planted& planted);
/// With --json; the document's text.
std::string explained(const Planted& planted, std::vector<std::string> args);

}  // namespace sluice::test
