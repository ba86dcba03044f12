// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What the stages of an RPC have to say to scheduler.log. They don't log themselves: their caller says where the
// lines go, and a dry run drops them.
#include <utility>

#include "sluice/base/log.h"

namespace sluice {

class RpcLog {
  public:
    using Sink = void (*)(LogLevel, std::string_view text);
    /// Null: the lines go nowhere. `log_line`: into the program's log.
    explicit RpcLog(Sink sink = nullptr) : sink_(sink) {}

    template <typename... Args>
    void critical(fmt::format_string<Args...> f, Args&&... a) const {
        at(LogLevel::kCritical, f, std::forward<Args>(a)...);
    }
    template <typename... Args>
    void warning(fmt::format_string<Args...> f, Args&&... a) const {
        at(LogLevel::kWarning, f, std::forward<Args>(a)...);
    }
    template <typename... Args>
    void normal(fmt::format_string<Args...> f, Args&&... a) const {
        at(LogLevel::kNormal, f, std::forward<Args>(a)...);
    }
    template <typename... Args>
    void debug(fmt::format_string<Args...> f, Args&&... a) const {
        at(LogLevel::kDebug, f, std::forward<Args>(a)...);
    }

  private:
    template <typename... Args>
    void at(LogLevel level, fmt::format_string<Args...> format, Args&&... args) const {
        if (sink_ != nullptr && log_enabled(level)) sink_(level, fmt::format(format, std::forward<Args>(args)...));
    }
    Sink sink_;
};

}  // namespace sluice
