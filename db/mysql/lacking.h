// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What a connection has found out of columns and indexes that its database lacks. Nobody asks the server beforehand:
// its first refusal tells, and for some minutes the statements do without. Then one of them asks again, since an admin
// may have updated the tables.
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/db/late_schema.h"

namespace sluice {

class Lacking {
  public:
    using Time = std::chrono::steady_clock::time_point;
    static constexpr std::chrono::minutes kKept{10};

    /// Whether the server's error says something new that statements can do without. Logged once a day.
    bool learn(int code, std::string_view server_text, Time now);
    /// Everything, kKept after something was learned for the last time. Not within a transaction.
    void forget_old(Time now);
    bool nothing() const { return columns_.empty() && indexes_.empty(); }
    /// Throws DbError if the statement writes a value that must be kept.
    std::string adapt(std::string statement) const;

  private:
    std::vector<const LateColumn*> columns_;
    std::vector<std::string> indexes_;
    Time learned_{};
};

}  // namespace sluice
