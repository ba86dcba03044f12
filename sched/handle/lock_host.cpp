// One RPC of a host at a time. With <sched_lockfile_dir>: a lock file per host, held until the reply is out. Without it
// the database guards: the host's row is written only if it is still what was read (dispatch.cpp).
#include <fmt/format.h>

#include "rpc.h"
#include "sched/rpc/messages.h"
#include "sluice/base/error.h"
#include "sluice/base/log.h"

namespace sluice {

Stage lock_host(Rpc& rpc) {
    if (rpc.config.sched_lockfile_dir.empty() || rpc.new_host()) return Stage::kContinue;
    const fs::path path = fs::path(rpc.config.sched_lockfile_dir) / fmt::format("CGI_{:07}", rpc.host.id);
    try {
        rpc.host_lock = FileLock::try_lock(path);
        if (rpc.host_lock) return Stage::kContinue;
        log_critical("Another scheduler instance is running for [HOST#{}]", rpc.host.id);
    } catch (const FileError& e) {
        log_critical("Error acquiring lock for [HOST#{}]: {}", rpc.host.id, e.what());
    }
    return rpc.refuse(messages::another_instance(), 60);
}

}  // namespace sluice
