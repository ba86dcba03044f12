// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// What the old interface of validators and assimilators has in common: rows as upstream's structures.
#include <string>
#include <vector>

#include "daemons/handlers/wire.h"
#include "include/sluice/compat/sched_config.h"

namespace sluice {

/// Texts are cut to their arrays.
void fill(const Workunit& wu, WORKUNIT& to);
void fill(const Result& result, RESULT& to);

/// argc and argv of a handler's init; they last as long as this.
class HandlerArguments {
  public:
    explicit HandlerArguments(const std::vector<std::string>& words);
    int argc() const { return static_cast<int>(pointers_.size()) - 1; }
    char** argv() { return pointers_.data(); }

  private:
    std::vector<std::string> words_;
    std::vector<char*> pointers_;
};

/// Sets `config` and the level of log_messages. "" or what is wrong.
std::string set_up_upstream(const WireHello& hello);

}  // namespace sluice
