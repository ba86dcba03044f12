#pragma once
#include <string>

#include "sluice/base/log.h"

namespace sluice {

/// As log_once_a_day(), in each hour of the day anew: of what keeps all requests from being served.
void log_once_an_hour(LogLevel level, const std::string& text);

}  // namespace sluice
