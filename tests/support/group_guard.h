// SPDX-License-Identifier: LGPL-3.0-or-later
#pragma once
#include <sys/types.h>

namespace sluice::test {

/// Ends a process group when this test program ends, however it ends: servers whose children outlive them (Apache) are
/// not left behind by a test that was killed. A small process of its own that waits for the end of a pipe.
class GroupGuard {
  public:
    explicit GroupGuard(pid_t group);
    GroupGuard(const GroupGuard&) = delete;
    GroupGuard& operator=(const GroupGuard&) = delete;
    ~GroupGuard();  ///< the group is ended, too

  private:
    int pipe_ = -1;
    pid_t watcher_ = -1;
};

}  // namespace sluice::test
