// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include "sched/handle/rpc.h"
#include "sched/handle/work_session.h"

namespace sluice {

/// Could this RPC send lost jobs again (configured, or to be expected of a repeated report), as far as the request
/// tells?
bool may_resend(const Rpc& rpc);

/// Sends again what the database says is on the host and the client says is not. True: something was sent again, and
/// the reply carries no new jobs.
bool resend_lost_jobs(const HandOut& out, WorkSession& session);

}  // namespace sluice
