// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// A handler that stores one workunit after the other.
#include <optional>
#include <string>
#include <vector>

#include "daemons/assimilator/assimilator.h"

namespace sluice {

class OneByOneHandler : public AssimilateHandler {
  public:
    explicit OneByOneHandler(const Clock& clock) : clock_(clock) {}
    /// Of what is quick, several: they are marked together. The first time one, then two, four and so on: where a
    /// workunit hangs, most of those before it are marked.
    std::vector<std::string> handle(std::span<const FinishedWorkunit> workunits) final;

  protected:
    /// "" or why it can't be stored. nullopt: a stop was asked for meanwhile. An exception is such a reason, too.
    virtual std::optional<std::string> store(const FinishedWorkunit& workunit) = 0;

  private:
    const Clock& clock_;
    std::size_t at_once_ = 1;
};

}  // namespace sluice
