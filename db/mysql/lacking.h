#pragma once
// What a connection has found out of columns and indexes that its database lacks. Nobody asks the server beforehand:
// its first refusal tells, and from then on the statements do without.
#include <string>
#include <string_view>
#include <vector>

#include "sluice/db/late_schema.h"

namespace sluice {

class Lacking {
  public:
    /// Whether the server's error says something new that statements can do without. Logged once a day.
    bool learn(int code, std::string_view server_text);
    bool nothing() const { return columns_.empty() && indexes_.empty(); }
    /// Throws DbError if the statement writes a value that must be kept.
    std::string adapt(std::string statement) const;

  private:
    std::vector<const LateColumn*> columns_;
    std::vector<std::string> indexes_;
};

}  // namespace sluice
