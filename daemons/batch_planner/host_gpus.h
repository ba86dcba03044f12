// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// GPUs of hosts by type, learnt from one pass to the next: what a host says of itself is read when it has come, not of
// all hosts each minute.
#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "sluice/model/codes.h"

namespace sluice {

/// host.misc -> devices of each type, 64 at most. All 0: it does not say.
std::array<std::uint8_t, kProcTypes> gpus_of_misc(const std::string& misc);

class HostGpus {
  public:
    /// `misc`: empty if it was not read.
    void note(Id host, const std::string& misc);
    /// Of a host with `gpus` devices of all types: those of `type`. As long as a host has not said which it has, all
    /// may be.
    int count(Id host, ProcType type, int gpus) const;
    /// What hosts said before that time is known.
    std::int64_t known_until() const { return known_until_; }
    void set_known_until(std::int64_t time) { known_until_ = time; }

  private:
    std::unordered_map<Id, std::array<std::uint8_t, kProcTypes>> hosts_;
    std::int64_t known_until_ = 0;  ///< UNIX s
};

}  // namespace sluice
