// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <string>

#include "sched/rpc/request.h"

namespace sluice {

/// host.misc: what web pages show of a client besides the columns, as JSON in upstream's shape. At most 60,000 bytes.
std::string host_json(const SchedulerRequest& request);

}  // namespace sluice
