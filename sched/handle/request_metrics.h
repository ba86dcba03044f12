// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What one RPC adds to the scheduler's counts (sluice/base/metrics.h).

namespace sluice {

struct Rpc;

/// Of an RPC that has its reply, once: what was written is committed.
void count_request(const Rpc& rpc);
/// Of a request that nobody could handle.
void count_unavailable();

}  // namespace sluice
