// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include "sched/handle/rpc.h"

namespace sluice {

HostFacts host_facts(const Rpc& rpc);
WorkRequest work_request(const Rpc& rpc);

}  // namespace sluice
