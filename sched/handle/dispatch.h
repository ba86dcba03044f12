// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include "sched/handle/rpc.h"

namespace sluice {

enum class CommitOutcome {
    kYes,
    kDecideAgain  ///< what was decided on is no longer true; nothing was written
};

/// Writes everything that the RPC decided, in one transaction, then empties the slots of the jobs that are sent. Jobs
/// that another process took meanwhile are dropped from `rpc` (and from the reply). Throws DbError.
CommitOutcome commit(Rpc& rpc);

}  // namespace sluice
