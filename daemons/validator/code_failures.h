// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
// When the project's code fails on a workunit each time, is it the workunit's fault? Not while the code fails on
// others, too: a disk, a package or the code itself may be broken, and volunteers must not pay for that.
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "sluice/model/codes.h"

namespace sluice {

/// Counts failures, in a file, so that a daemon that is often started anew (`--one_pass`) comes to an end, too.
class CodeFailures {
  public:
    /// Then a workunit that always fails is given up.
    static constexpr int kMost = 10;

    /// Without a file it forgets all when the program ends. One that can't be read is said, and counts as empty.
    explicit CodeFailures(std::filesystem::path file = {});

    /// The code has said what the results of a workunit are worth.
    void judged(Id wu);
    /// The code crashed, hung or made no sense. Counts only if it has judged another one since this one's last failure.
    void failed(Id wu, std::int64_t now);
    /// True: it failed kMost times, over an hour at least, and the code has judged more workunits meanwhile than it
    /// fails on. After a week a few of them need no other.
    bool is_to_blame(Id wu, std::int64_t now) const;
    int count(Id wu) const;
    void forget(Id wu) { changed_ |= failures_.erase(wu) > 0; }
    /// At the end of a pass. Writes the file if it would hold something else.
    void save(std::int64_t now);

  private:
    struct Failure {
        std::int64_t count = 0, all = 0;   ///< those that count, and all
        std::int64_t first = 0, last = 0;  ///< when
        std::int64_t since = 0, seen = 0;  ///< `judged_` at its first failure, and at the last that counted
    };
    void read();

    std::filesystem::path file_;
    std::int64_t judged_ = 0;  ///< workunits, ever
    std::map<Id, Failure> failures_;
    bool changed_ = false;
};

}  // namespace sluice
