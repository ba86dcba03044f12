// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What handling scheduler RPCs needs from outside; the cgi makes it, tests make their own.
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "config/project_config.h"
#include "sched/handle/project_files.h"
#include "sched/handle/rpc_log.h"
#include "sched/rpc/request.h"
#include "sluice/base/env.h"
#include "sluice/db/rpc_stores.h"
#include "sluice/match/job_pool.h"
#include "sluice/match/matcher.h"
#include "sluice/model/project_tables.h"
#include "sluice/shmem/job_array.h"

namespace sluice {

/// The job pool with what only dispatch does: read the cold data of claimed jobs, empty slots for good.
class RpcJobPool : public JobPool {
  public:
    /// Is there any job at all?
    virtual bool any_present() const = 0;
    /// Of a slot that this RPC holds.
    virtual std::optional<SlotDoc> document(const SlotRef& ref) const = 0;
    /// After the commit.
    virtual void consume(const SlotRef& ref) = 0;
    /// Gives back every slot that is still held.
    virtual void release_all() = 0;
};

struct RpcServices {
    const ProjectConfig& config;
    const ProjectFiles& files;
    const MatchParams& params;  ///< those of `config`, unless a dry run decides by others
    const ProjectTables& tables;
    RpcJobPool& pool;
    RpcStores stores;
    Env env;
    RequestLimits limits;
    std::string remote_address = "?.?.?.?";
    bool ignore_seqno = false;  ///< --batch
    RpcLog log{};               ///< silent, unless it is set
    Trace* trace = nullptr;     ///< gets what became of every job that was looked at
    /// Lets time pass before a decision that came to nothing is made anew, without any claims; in s. Unset: none
    /// passes.
    std::function<void(double seconds)> wait{};
    /// Tests: called with the name of each point of an RPC where a crash would matter.
    std::function<void(const char* point)> at_point{};
    void reach(const char* point) const {
        if (at_point) at_point(point);
    }
};

/// Bounds of a request, taken from config.xml.
RequestLimits request_limits(const ProjectConfig& config);

}  // namespace sluice
