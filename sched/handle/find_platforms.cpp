// SPDX-License-Identifier: LGPL-3.0-or-later
// Which of the client's platforms the project knows.
#include "sched/handle/rpc.h"
#include "sched/rpc/messages.h"

namespace sluice {
namespace {

constexpr double kUnsupportedPlatformDelay = 86400;

}  // namespace

Stage find_platforms(const Rpc& rpc, HostRows& rows, SchedulerReply& reply) {
    const ProjectTables& tables = rpc.services.tables;
    const auto add = [&](const std::string& name) {
        if (tables.platform_by_name(name) != nullptr) rows.platforms.push_back(name);
    };
    add(rpc.request.platform_name);
    if (!rpc.request.anonymous())
        for (const std::string& name : rpc.request.alt_platforms) add(name);
    if (!rows.platforms.empty()) return Stage::kContinue;
    // Upstream drops reported results and trickle messages here; only work is refused.
    reply.say(messages::platform_not_supported(rpc.request.platform_name));
    rpc.log.critical("[HOST#{}] platform '{}' not found", rpc.rows.host.id, rpc.request.platform_name);
    reply.delay(kUnsupportedPlatformDelay);
    return Stage::kContinue;
}

}  // namespace sluice
