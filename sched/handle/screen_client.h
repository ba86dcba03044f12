// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "sched/handle/rpc_services.h"
#include "sched/rpc/reply.h"

namespace sluice {

/// What can be said of a request before the database is asked.
struct Screening {
    enum class Refused { kNo, kDontSendJobs, kOldClient, kOs, kCpu };
    Refused refused = Refused::kNo;  ///< what else no work is sent for
    bool may_send_work() const { return refused == Refused::kNo; }
    bool wants_work = false;
    bool pool_empty = false;  ///< work is wanted and the job array holds none
    bool finished = false;    ///< the reply is complete: no database access
    std::vector<ReplyMessage> messages;
    double delay = 0;  ///< s
    std::vector<std::string> delete_files;

    void refuse(Refused why, ReplyMessage message, double seconds) {
        messages.push_back(std::move(message));
        delay = std::max(delay, seconds);
        if (refused == Refused::kNo) refused = why;
    }
};

/// Version, OS and CPU that the project does not serve; the shortcuts that spare the database.
Screening screen_client(const RpcServices& services, const SchedulerRequest& request);

/// Does the client want jobs? (facts of the request alone; a project with a non-CPU-intensive app always gives some)
bool wants_work(const ProjectConfig& config, const SchedulerRequest& request, const ProjectTables& tables);

}  // namespace sluice
