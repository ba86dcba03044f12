// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <gtest/gtest.h>

#include <string>

#include "sched/rpc/request.h"

namespace sluice::test {

/// The request whose root element holds `body`; a request that does not parse is a test failure.
inline SchedulerRequest parsed(const std::string& body, const RequestLimits& limits = {}) {
    ParsedRequest result = parse_request("<scheduler_request>\n" + body + "\n</scheduler_request>\n", limits);
    EXPECT_TRUE(result.request.has_value()) << result.error << "\n" << body.substr(0, 500);
    return result.request.value_or(SchedulerRequest());
}

inline std::string element(const std::string& tag, const std::string& text) {
    return "<" + tag + ">" + text + "</" + tag + ">\n";
}

}  // namespace sluice::test
