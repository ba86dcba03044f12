// SPDX-License-Identifier: LGPL-3.0-or-later
#include "sluice/base/timing.h"

#include "sluice/base/log.h"

namespace sluice {
namespace {

constexpr double kReminderInterval = 600;
constexpr const char* kDatabase = "database";

}  // namespace

void TroubleLog::report(const Trouble& trouble, double now) {
    const std::string state = trouble.database ? kDatabase : trouble.what;
    if (state == state_ && now >= said_at_ && now - said_at_ < kReminderInterval) {
        log_debug("Still: {}", trouble.what);
        return;
    }
    log_at(trouble.database ? LogLevel::kWarning : LogLevel::kCritical, "{}; {}", trouble.what, trouble.next);
    state_ = state;
    said_at_ = now;
}

void TroubleLog::over() {
    if (state_.empty()) return;
    log_normal("{}", state_ == kDatabase ? "The database answers again" : "The error is gone, going on");
    state_.clear();
}

}  // namespace sluice
