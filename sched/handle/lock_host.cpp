// SPDX-License-Identifier: LGPL-3.0-or-later
// One RPC of a host at a time. With <sched_lockfile_dir>: a lock file per host, held until the reply is out. Without it
// the database guards: the host's row is written only if it is still what was read (dispatch.cpp).
#include <fmt/format.h>

#include "sched/handle/rpc.h"
#include "sched/rpc/messages.h"
#include "sluice/base/error.h"

namespace sluice {

Stage lock_host(const Rpc& rpc, std::optional<FileLock>& lock, SchedulerReply& reply) {
    if (rpc.config.sched_lockfile_dir.empty() || rpc.rows.is_new()) return Stage::kContinue;
    const fs::path path = fs::path(rpc.config.sched_lockfile_dir) / fmt::format("CGI_{:07}", rpc.rows.host.id);
    try {
        lock = FileLock::try_lock(path);
        if (lock) return Stage::kContinue;
        rpc.log.critical("Another scheduler instance is running for [HOST#{}]", rpc.rows.host.id);
    } catch (const FileError& e) {
        rpc.log.critical("Error acquiring lock for [HOST#{}]: {}", rpc.rows.host.id, e.what());
    }
    return refuse(reply, messages::another_instance(), 60);
}

}  // namespace sluice
